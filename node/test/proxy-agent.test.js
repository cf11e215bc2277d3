// Requests through a proxy: a CONNECT tunnel, whose socket first talks to the proxy and then to the origin, or forwarded.

import assert from 'node:assert/strict'
import net from 'node:net'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, Pool, ProxyAgent } from '../src/index.js'
import { recorder } from './support/record.js'
import { localhostIdentity, startTap } from './support/tap.js'

const ca = localhostIdentity().cert

/** A proxy that supports CONNECT, and counts the tunnels that it opens. */
async function startProxy () {
  const sockets = new Set()
  let tunnels = 0
  const server = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', (data) => {
      const match = /^CONNECT ([^:]+):(\d+) HTTP\/1\.1\r\n/.exec(data.toString('latin1'))
      if (match === null) return socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')
      tunnels++
      const upstream = net.connect({ host: match[1], port: Number(match[2]), noDelay: true }, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.pipe(upstream).pipe(socket)
      })
      sockets.add(upstream)
      upstream.on('error', () => socket.destroy())
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  return {
    origin: `http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`,
    tunnels: () => tunnels,
    async close () {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

const chunks = async function * () { yield 'one'; yield 'write' }

for (const secure of [false, true]) {
  for (const [hooked, word] of /** @type {[boolean, string][]} */ ([[false, 'no hook'], [true, 'every hook']])) {
    describe(`an ${secure ? 'https' : 'http'} origin through CONNECT, ${word}`, () => {
      const seen = recorder()
      const hooks = hooked ? seen.hooks : {}

      /** @type {Record<string, (proxy: string, origin: string) => Promise<{dispatcher: undici.Dispatcher, close: () => Promise<any>}>>} */
      const makers = {
        'ProxyAgent, proxyTunnel: true': async (uri) => {
          const agent = new ProxyAgent({ uri, proxyTunnel: true, connections: 1, requestTls: { ca }, ...hooks })
          return { dispatcher: agent, close: () => agent.destroy() }
        },
        'ProxyAgent, proxyTunnel left out': async (uri) => {
          const agent = new ProxyAgent({ uri, connections: 1, requestTls: { ca }, ...hooks })
          return { dispatcher: agent, close: () => agent.destroy() }
        },
        'a Pool through a Pool': async (uri, origin) => {
          const outer = new Pool(uri, { connections: 1, ...hooks })
          const finish = undici.buildConnector({ ca })
          const connect = async (/** @type {any} */ options, /** @type {any} */ callback) => {
            try {
              const { socket, statusCode } = await outer.connect({ path: new URL(origin).host })
              if (statusCode !== 200) return callback(new Error(`status ${statusCode}`), null)
              if (secure) return finish({ ...options, servername: 'localhost', httpSocket: socket }, callback)
              callback(null, socket)
            } catch (error) {
              callback(error, null)
            }
          }
          const agent = new Agent({ connections: 1, connect, ...hooks })
          return { dispatcher: agent, close: async () => { await agent.destroy(); await outer.destroy() } }
        }
      }

      // undici 8 forwards plain http unless it has the option to tunnel.
      if (!secure && 'Dispatcher1Wrapper' in undici) delete makers['ProxyAgent, proxyTunnel left out']
      for (const [name, make] of Object.entries(makers)) {
        test(`${name}: each request arrives, a stream in one piece`, async () => {
          const [proxy, tap] = [await startProxy(), await startTap({ secure, count: false })]
          const { dispatcher, close } = await make(proxy.origin, tap.origin)
          seen.clear()
          try {
            for (let round = 0; round < 3; round++) {
              const { statusCode, body } = await undici.request(tap.origin, { dispatcher, method: 'POST', body: chunks() })
              assert.deepEqual([statusCode, await body.text()], [200, 'ok'])
            }
            const requests = tap.requests.filter(({ head }) => head.startsWith('POST'))
            assert.deepEqual(requests.map(({ body }) => body.toString()), ['onewrite', 'onewrite', 'onewrite'])
            if (secure) assert.deepEqual(requests.slice(1).map(({ records }) => records), [1, 1])
            assert.equal(proxy.tunnels(), 1)
            if (!hooked) return
            const timings = seen.timings.filter(({ method }) => method === 'POST')
            assert.deepEqual(timings.map(({ outcome, status, url }) => [outcome, status, url]), Array(3).fill(['ok', 200, `${tap.origin}/`]))
            assert.deepEqual(timings.map(({ reused }) => reused), [false, true, true])
            assert.ok(timings.every(({ attempts: [{ writes, bytesSent }] }) => writes === 1 && bytesSent > 50 && bytesSent < 400))
          } finally {
            await close()
            await tap.close()
            await proxy.close()
          }
        })
      }
    })
  }
}

test('a proxy that forwards gets a stream in one segment, and the record has the steps to the proxy', async () => {
  const proxy = await startTap()
  const seen = recorder()
  const agent = new ProxyAgent({ uri: proxy.origin, proxyTunnel: false, connections: 1, ...seen.hooks })
  try {
    for (let round = 0; round < 21; round++) {
      await (await undici.request('http://example.test/', { dispatcher: agent, method: 'POST', body: chunks() })).body.dump()
    }
    assert.equal(proxy.mode('segments'), 1)
    const [{ url, connectNs, last }] = seen.timings
    assert.deepEqual([url, last.writes, connectNs > 0], ['http://example.test/', 1, true])
  } finally {
    await agent.destroy()
    await proxy.close()
  }
})

test('in a tunnel the options of the client that sends through it apply', async () => {
  for (const [first, second] of [[0, 16384], [16384, 0]]) {
    const [proxy, tap] = [await startProxy(), await startTap({ count: false })]
    const seen = recorder()
    const outer = new Pool(proxy.origin, { connections: 1, coalesceMax: first })
    const agent = new Agent({
      connections: 1,
      coalesceMax: second,
      ...seen.hooks,
      connect: (_, callback) => { outer.connect({ path: new URL(tap.origin).host }).then(({ socket }) => callback(null, /** @type {any} */ (socket)), (error) => callback(error, null)) }
    })
    try {
      for (let round = 0; round < 3; round++) {
        const { body } = await undici.request(tap.origin, { dispatcher: agent, method: 'POST', body: chunks() })
        assert.equal(await body.text(), 'ok')
      }
      assert.ok(tap.requests.every(({ body }) => body.toString() === 'onewrite'))
      // The proxy joins what it reads, so writes are counted at the client.
      assert.deepEqual(seen.timings.map(({ attempts: [{ writes }] }) => writes === 1), Array(3).fill(second > 0))
    } finally {
      await agent.destroy()
      await outer.destroy()
      await tap.close()
      await proxy.close()
    }
  }
})
