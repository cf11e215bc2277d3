// node:http with our agents and with the guard: segments, TCP_NODELAY, timing.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { guardNodeHttp, HttpAgent, HttpsAgent, unguardNodeHttp } from '../src/http/index.js'
import { withTimingId } from '../src/index.js'
import { recorder, until } from './support/record.js'
import { answerOk, startServer } from './support/server.js'
import { localhostIdentity, startTap } from './support/tap.js'

const ca = localhostIdentity().cert

function send (url, { agent, body, headers = {}, method = 'POST', signal } = /** @type {any} */ ({})) {
  return new Promise((resolve, reject) => {
    const request = (url.startsWith('https:') ? https : http).request(url, { method, agent, headers, ca, signal })
    request.on('error', reject)
    request.on('response', async (response) => {
      try {
        const parts = []
        for await (const part of response) parts.push(part)
        resolve({ status: response.statusCode, body: Buffer.concat(parts).toString(), socket: request.socket })
      } catch (error) {
        reject(error)
      }
    })
    if (body instanceof Readable) pipeline(body, request).catch(reject)
    else request.end(body)
  })
}

const chunks = (count) => Readable.from((async function * () { for (let index = 0; index < count; index++) yield Buffer.alloc(50) })())

for (const secure of [false, true]) {
  const make = (options) => secure ? new HttpsAgent({ keepAlive: true, ca, ...options }) : new HttpAgent({ keepAlive: true, ...options })
  describe(secure ? 'HttpsAgent' : 'HttpAgent', () => {
    for (const [name, body, stock] of /** @type {[string, () => any, number][]} */ ([
      ['string', () => 'x'.repeat(200), 1], ['Buffer', () => Buffer.alloc(200), 1], ['stream of 1 chunk, chunked', () => chunks(1), 2], ['stream of 4 chunks, chunked', () => chunks(4), 2]
    ])) {
      test(`${name}: one segment${secure ? ', one record' : ''}`, async () => {
        const tap = await startTap({ secure })
        const agent = make({ maxSockets: 1 })
        try {
          for (let round = 0; round < 21; round++) assert.equal((await send(tap.origin, { agent, body: body() })).body, 'ok')
          assert.equal(tap.mode('segments'), 1)
          if (secure) assert.equal(tap.mode('records'), 1)
          assert.equal(tap.requests.at(-1).body.length, body() instanceof Readable ? tap.requests[0].body.length : 200)
        } finally {
          agent.destroy()
          await tap.close()
        }
      })
      if (!secure) {
        test(`${name}: Node's own agent takes ${stock === 1 ? 'one too' : 'more, so the tap can see it'}`, async () => {
          const tap = await startTap()
          const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
          try {
            for (let round = 0; round < 21; round++) await send(tap.origin, { agent, body: body() })
            if (stock === 1) assert.equal(tap.mode('segments'), 1)
            else assert.ok(tap.mode('segments') > 1)
          } finally {
            agent.destroy()
            await tap.close()
          }
        })
      }
    }

    test('timing: fresh, reused, bytes and writes', async () => {
      const server = await startServer(answerOk, { secure })
      const seen = recorder()
      const agent = make(seen.hooks)
      try {
        await withTimingId('first', () => send(server.origin, { agent, body: 'x'.repeat(200) }))
        const first = await seen.last()
        const tls = secure ? ['tlsStart', 'tlsEnd'] : []
        assert.deepEqual(seen.names(), ['callStart', 'attemptStart', 'queueStart', 'queueEnd', 'dnsStart', 'dnsEnd', 'connectStart', 'connectEnd', ...tls,
          'connectionAcquired', 'requestStart', 'requestEnd', 'responseStart', 'headersEnd', 'responseEnd', 'connectionReleased', 'attemptEnd', 'callEnd'])
        for (let index = 1; index < seen.events.length; index++) assert.ok(seen.events[index].tNs >= seen.events[index - 1].tNs, seen.events[index].name)
        assert.equal(first.id, 'first')
        assert.equal(first.status, 200)
        assert.equal(first.attempts[0].writes, 1)
        assert.equal(first.attempts[0].bytesReceived, 2)
        assert.ok(first.attempts[0].bytesSent > 200)
        seen.clear()
        await send(server.origin, { agent, body: 'x' })
        const second = await seen.last()
        assert.equal(second.reused, true)
        assert.equal(second.connId, first.connId)
        assert.equal(second.dnsNs ?? second.connectNs ?? second.tlsNs, undefined)
        assert.equal(seen.events.find((event) => event.name === 'connectionReleased').reusable, true)
      } finally {
        agent.destroy()
        await server.close()
      }
    })
  })
}

describe('failures through HttpAgent', () => {
  const cases = {
    'connection refused': { origin: 'http://localhost:1', kind: 'connect', phase: 'connect' },
    'unknown name': { origin: 'http://no-such-host.invalid', kind: 'dns', phase: 'dns' },
    'closed before the answer': { onData: (socket) => socket.end(), kind: 'closed', phase: 'wait' },
    'answer cut short': { onData: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok'), kind: 'closed', phase: 'receive' },
    'not HTTP': { onData: (socket) => socket.write('220 smtp\r\n\r\n'), kind: 'protocol', phase: 'wait' },
    'time limit': { onData: () => {}, opts: () => ({ signal: AbortSignal.timeout(2500) }), kind: 'timeout', phase: 'wait' }
  }
  for (const [name, { origin, onData = answerOk, opts = () => ({}), kind, phase }] of Object.entries(cases)) {
    test(name, async () => {
      const server = await startServer(onData)
      const seen = recorder()
      const agent = new HttpAgent({ keepAlive: true, ...seen.hooks })
      try {
        await assert.rejects(send(origin ?? server.origin, { agent, body: 'x', ...opts() }))
        const timing = await seen.last()
        assert.equal(timing.outcome, 'error')
        assert.equal(timing.errorKind, kind)
        assert.equal(timing.errorPhase, phase)
        assert.equal(seen.timings.length, 1)
      } finally {
        agent.destroy()
        await server.close()
      }
    })
  }

  test('an error without a listener is thrown', () => {
    const script = `
      import http from 'node:http'
      import { HttpAgent } from ${JSON.stringify(fileURLToPath(new URL('../src/http/index.js', import.meta.url)))}
      http.request('http://localhost:1', { agent: new HttpAgent({ onTiming () {} }) }).end()`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(stderr, /ECONNREFUSED/)
  })
})

describe('TCP_NODELAY on https', () => {
  const calls = []
  const original = net.Socket.prototype.setNoDelay
  // Wrapped, not replaced.
  before(() => { net.Socket.prototype.setNoDelay = function (on) { calls.push(on); return original.call(this, on) } })
  after(() => { net.Socket.prototype.setNoDelay = original })

  async function flagWith (agent, run = () => {}) {
    const tap = await startTap({ secure: true, count: false })
    try {
      await run()
      calls.length = 0
      // The tap's own sockets call it, too, with true; only the client can pass false.
      const { socket } = await send(tap.origin, { agent, body: 'x' })
      return Reflect.ownKeys(socket).filter((key) => String(key) === 'Symbol(kSetNoDelay)').map((key) => socket[key])[0]
    } finally {
      agent.destroy()
      await tap.close()
    }
  }

  test('HttpsAgent sets it', async () => assert.equal(await flagWith(new HttpsAgent({ ca })), true))
  test('noDelay: false is obeyed', async () => assert.notEqual(await flagWith(new HttpsAgent({ ca, noDelay: false })), true))
  test('nodelayDisabled leaves it to Node', async () => {
    assert.equal(await flagWith(new HttpsAgent({ ca, nodelayDisabled: true })), await flagWith(new https.Agent({ ca })))
  })
  test('the guard sets it for any agent, but for one that asked for Nagle', async () => {
    assert.equal(guardNodeHttp(), true)
    try {
      assert.equal(await flagWith(new https.Agent({ ca })), true)
      assert.notEqual(await flagWith(new https.Agent({ ca, noDelay: false })), true)
    } finally {
      unguardNodeHttp()
    }
  })
})

test('a response that the program leaves unread has a record, as that of a redirect in needle', async () => {
  const { default: needle } = await import('needle')
  const server = http.createServer((request, response) => {
    if (request.url === '/') response.writeHead(302, { location: '/there' }).end('moved')
    else response.end('ok')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const statuses = []
  const agent = new HttpAgent({ keepAlive: true, onTiming: ({ status, outcome }) => statuses.push([status, outcome]) })
  const url = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/`
  const { body } = await needle('get', url, { agent, follow_max: 3 })
  await until(() => statuses.length === 2)
  agent.destroy()
  server.closeAllConnections()
  server.close()
  assert.deepEqual([String(body), statuses], ['ok', [[302, 'ok'], [200, 'ok']]])
})
