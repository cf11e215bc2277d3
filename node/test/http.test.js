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
import { recorder } from './support/record.js'
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

    test('records of a fresh and a reused connection', async () => {
      const server = await startServer(answerOk, { secure })
      const seen = recorder()
      const agent = make(seen.hooks)
      try {
        await send(server.origin, { agent, body: 'x'.repeat(200) })
        const first = await seen.last()
        const tls = secure ? ['tlsStart', 'tlsEnd'] : []
        assert.deepEqual(seen.names(), ['queueStart', 'queueEnd', 'dnsStart', 'dnsEnd', 'connectStart', 'connectEnd', ...tls,
          'connectionAcquired', 'requestStart', 'requestEnd', 'responseStart', 'headersEnd', 'responseEnd', 'connectionReleased'])
        const times = first.events.map(([, tNs]) => tNs)
        assert.deepEqual(times, times.toSorted((one, other) => one - other))
        assert.deepEqual([first.outcome, first.status, first.reused, first.connRequests, first.bytesReceived], ['ok', 200, false, 1, 2])
        assert.ok(first.bytesSent > 200)
        seen.clear()
        await send(server.origin, { agent, body: 'x'.repeat(200) })
        const second = await seen.last()
        assert.deepEqual([second.reused, second.connId, second.connRequests, second.bytesSent], [true, first.connId, 2, first.bytesSent])
        assert.equal(second.dnsNs ?? second.connectNs ?? second.tlsNs, undefined)
        assert.ok(second.idleNs > 0)
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
        const record = await seen.last()
        assert.deepEqual([record.outcome, record.errorKind, record.errorPhase], ['error', kind, phase])
        assert.equal(seen.records.length, 1)
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
