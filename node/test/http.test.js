// node:http with our agents: segments, records, failures. TCP_NODELAY: the judge's tcp/1 to 3.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import http from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { HttpAgent, HttpsAgent } from '../src/http/index.js'
import { withTimingId } from '../src/index.js'
import { recorder, until } from './support/record.js'
import { answerOk, startServer } from './support/server.js'
import { localhostIdentity, startTap } from './support/tap.js'

const ca = localhostIdentity().cert

function send (url, { agent, body } = /** @type {any} */ ({})) {
  return new Promise((resolve, reject) => {
    const request = (url.startsWith('https:') ? https : http).request(url, { method: 'POST', agent, ca })
    request.on('error', reject)
    request.on('response', async (response) => {
      try {
        const parts = []
        for await (const part of response) parts.push(part)
        resolve(Buffer.concat(parts).toString())
      } catch (error) {
        reject(error)
      }
    })
    if (body instanceof Readable) pipeline(body, request).catch(reject)
    else request.end(body)
  })
}

const fourChunks = () => Readable.from((async function * () { for (let index = 0; index < 4; index++) yield Buffer.alloc(50) })())

for (const secure of [false, true]) {
  const make = (options) => secure ? new HttpsAgent({ keepAlive: true, ca, ...options }) : new HttpAgent({ keepAlive: true, ...options })
  describe(secure ? 'HttpsAgent' : 'HttpAgent', () => {
    // Its other bodies: the judge's wire/1, 2, 9 to 11.
    test(`a stream of 4 chunks, chunked: one segment${secure ? ', one record' : ''}`, async () => {
      const tap = await startTap({ secure })
      const agent = make({ maxSockets: 1 })
      try {
        for (let round = 0; round < 21; round++) assert.equal(await send(tap.origin, { agent, body: fourChunks() }), 'ok')
        assert.equal(tap.mode('segments'), 1)
        if (secure) assert.equal(tap.mode('records'), 1)
      } finally {
        agent.destroy()
        await tap.close()
      }
    })

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
    'not HTTP': { onData: (socket) => socket.write('220 smtp\r\n\r\n'), kind: 'protocol', phase: 'wait' }
  }
  for (const [name, { origin, onData = answerOk, kind, phase }] of Object.entries(cases)) {
    test(name, async () => {
      const server = await startServer(onData)
      const seen = recorder()
      const agent = new HttpAgent({ keepAlive: true, ...seen.hooks })
      try {
        await assert.rejects(send(origin ?? server.origin, { agent, body: 'x' }))
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

test('a response that the program leaves unread has a record, as that of a redirect in needle', async () => {
  const { default: needle } = await import('needle')
  const server = await startServer((socket, data) => {
    if (/^GET \/ /.test(String(data))) socket.write('HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 5\r\n\r\nmoved')
    else answerOk(socket)
  })
  const statuses = []
  const agent = new HttpAgent({ keepAlive: true, onTiming: ({ status, outcome }) => statuses.push([status, outcome]) })
  const { body } = await needle('get', server.origin, { agent, follow_max: 3 })
  await until(() => statuses.length === 2)
  agent.destroy()
  await server.close()
  assert.deepEqual([String(body), statuses], ['ok', [[302, 'ok'], [200, 'ok']]])
})
