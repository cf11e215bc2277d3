// Requests through a proxy: a CONNECT tunnel, whose socket first talks to the proxy and then to the origin, or forwarded.

import assert from 'node:assert/strict'
import net from 'node:net'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, EnvHttpProxyAgent, Pool, ProxyAgent } from '../src/index.js'
import { recorder } from './support/record.js'
import { answerOk, startServer } from './support/server.js'
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
  for (const [hooked, word] of /** @type {[boolean, string][]} */ ([[false, 'no hook'], [true, 'a hook']])) {
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
            await new Promise(setImmediate)
            const records = seen.records.filter(({ method }) => method === 'POST')
            assert.deepEqual(records.map(({ outcome, status, url }) => [outcome, status, url]), Array(3).fill(['ok', 200, `${tap.origin}/`]))
            assert.deepEqual(records.map(({ reused }) => reused), [false, true, true])
            assert.ok(records.every(({ bytesSent }) => bytesSent > 50 && bytesSent < 400))
            if (!name.startsWith('ProxyAgent')) return
            const [{ proxy: named, connectNs, tlsNs }] = records
            assert.deepEqual([named, connectNs > 0, tlsNs > 0], [new URL(proxy.origin).host, true, secure])
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
    const [{ url, connectNs, proxy: named }] = seen.records
    assert.deepEqual([url, named, connectNs > 0], ['http://example.test/', new URL(proxy.origin).host, true])
  } finally {
    await agent.destroy()
    await proxy.close()
  }
})

test('a proxy from the environment: the record names it, and NO_PROXY is direct', async () => {
  const [proxy, server] = [await startTap({ count: false }), await startServer(answerOk)]
  const seen = recorder()
  const agent = new EnvHttpProxyAgent({ httpProxy: proxy.origin, noProxy: 'localhost', proxyTunnel: false, ...seen.hooks })
  try {
    await (await undici.request('http://example.test/', { dispatcher: agent })).body.dump()
    await (await undici.request(server.origin, { dispatcher: agent })).body.dump()
    await seen.last(2)
    assert.deepEqual(seen.records.map(({ proxy }) => proxy), [new URL(proxy.origin).host, undefined])
  } finally {
    await agent.destroy()
    await proxy.close()
    await server.close()
  }
})

test('a 407 of a proxy that forwards is no ok', async () => {
  const server = await startServer((socket) => socket.write('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 4\r\n\r\nnope'))
  const seen = recorder()
  const agent = new ProxyAgent({ uri: server.origin, proxyTunnel: false, ...seen.hooks })
  await assert.rejects(undici.request('http://shop.test/', { dispatcher: agent }))
  const record = await seen.last()
  assert.deepEqual([record.outcome, record.status], ['error', 407])
  await agent.destroy()
  await server.close()
})
