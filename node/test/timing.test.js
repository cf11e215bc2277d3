// Records of undici's requests. Durations, queues, interim answers, time limits: the judge's time/*.

import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { Writable } from 'node:stream'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, Pool } from '../src/index.js'
import { countingClockReads } from './support/clock.js'
import { recorder, until } from './support/record.js'
import { answerOk, CLOSED_PORT, OK, startServer } from './support/server.js'
import { localhostIdentity } from './support/tap.js'

const FRESH = ['queueStart', 'queueEnd', 'dnsStart', 'dnsEnd', 'connectStart', 'connectEnd', 'tlsStart', 'tlsEnd', 'connectionAcquired', 'requestStart', 'requestEnd', 'responseStart', 'headersEnd', 'responseEnd', 'connectionReleased']
const without = (...names) => FRESH.filter((name) => !names.includes(name))
const isUndici8 = 'Dispatcher1Wrapper' in undici

async function withAgent (onData, { secure, ...options }, run) {
  const server = await startServer(onData, { secure })
  const seen = recorder()
  const agent = new Agent({ connections: 1, connect: { ca: localhostIdentity().cert }, ...options, ...seen.hooks })
  try {
    await run({ server, agent, seen, send: (opts = {}) => undici.request(server.origin, { dispatcher: agent, method: 'POST', body: 'x'.repeat(200), ...opts }) })
  } finally {
    await agent.destroy()
    await server.close()
  }
}

function assertOrdered ({ events }) {
  for (let index = 1; index < events.length; index++) {
    const [[before, earlier], [name, later]] = events.slice(index - 1)
    assert.ok(Number.isInteger(later))
    assert.ok(later >= earlier, `${name} is before ${before}`)
  }
}

test('a fresh and a reused connection on https', () => withAgent(answerOk, { secure: true }, async ({ send, seen }) => {
  await (await send()).body.text()
  const fresh = await seen.last()
  assert.deepEqual(seen.names(), FRESH)
  assertOrdered(fresh)
  assert.deepEqual([fresh.outcome, fresh.status, fresh.reused, fresh.connRequests, fresh.bytesReceived], ['ok', 200, false, 1, 2])
  assert.ok(fresh.bytesSent > 200)
  const at = Object.fromEntries(fresh.events)
  for (const [phase, from, to] of [['queue', 'queueStart', 'queueEnd'], ['dns', 'dnsStart', 'dnsEnd'], ['connect', 'connectStart', 'connectEnd'],
    ['tls', 'tlsStart', 'tlsEnd'], ['send', 'requestStart', 'requestEnd'], ['wait', 'requestEnd', 'responseStart'],
    ['receive', 'responseStart', 'responseEnd'], ['total', 'queueStart', 'connectionReleased']]) {
    assert.ok(fresh[`${phase}Ns`] > 0, phase)
    assert.equal(fresh[`${phase}Ns`], at[to] - at[from], phase)
  }

  seen.clear()
  await (await send()).body.text()
  const reused = await seen.last()
  assert.deepEqual(seen.names(), without('dnsStart', 'dnsEnd', 'connectStart', 'connectEnd', 'tlsStart', 'tlsEnd'))
  assert.deepEqual([reused.reused, reused.connId, reused.connRequests, reused.bytesSent], [true, fresh.connId, 2, fresh.bytesSent])
  assert.ok(reused.idleNs > 0)
  for (const phase of ['dnsNs', 'connectNs', 'tlsNs']) assert.equal(reused[phase], undefined)
}))

test('an IP address has no dns phase', () => withAgent(answerOk, {}, async ({ server, agent, seen }) => {
  await (await undici.request(`http://127.0.0.1:${server.port}`, { dispatcher: agent })).body.text()
  assert.equal((await seen.last()).dnsNs, undefined)
  assert.deepEqual(seen.names(), without('dnsStart', 'dnsEnd', 'tlsStart', 'tlsEnd'))
}))

test('the clock is that of process.hrtime, and the wall clock is read for each record', () => withAgent(answerOk, {}, async ({ send, seen }) => {
  const before = Number(process.hrtime.bigint())
  await (await send()).body.text()
  const record = await seen.last()
  const after = Number(process.hrtime.bigint())
  for (const [name, tNs] of record.events) assert.ok(tNs >= before - 1000 && tNs <= after + 1000, name)
  assert.equal(record.startedAtMonoNs, record.events[0][1])
  assert.ok(Math.abs(record.startedAtUnixNs / 1e6 - Date.now()) < 5000)
}))

test('a record is what loggers copy: its fields are its own, and it leads to nothing of the request', () => withAgent(answerOk, {}, async ({ send, seen }) => {
  await (await send()).body.text()
  const record = await seen.last()
  for (const copy of [{ ...record }, structuredClone(record), JSON.parse(JSON.stringify(Object.entries(record)))]) {
    assert.equal((Array.isArray(copy) ? Object.fromEntries(copy) : copy).status, 200)
  }
  assert.equal(JSON.parse(JSON.stringify(record)).bytes_received, 2)
  assert.ok(Object.values(record).every((value) => value === undefined || typeof value !== 'object'))
}))

test('no user, password, query or fragment is in a record', () => withAgent(answerOk, {}, async ({ server, agent, seen }) => {
  const { host } = new URL(server.origin)
  await (await undici.request(`http://user:secret@${host}/a@b?token=secret#secret`, { dispatcher: agent })).body.text()
  const record = await seen.last()
  assert.equal(record.url, `http://${host}/a@b`)
  assert.ok(!(JSON.stringify(record) + String(record)).includes('secret'))
}))

describe('failures have a kind and a phase', () => {
  const cases = {
    'connection refused': { origin: `http://localhost:${CLOSED_PORT}`, kind: 'connect', phase: 'connect' },
    'unknown name': { origin: 'http://no-such-host.invalid', kind: 'dns', phase: 'dns' },
    'a missing Unix socket': { connect: { socketPath: '/nowhere/onewrite.sock' }, kind: 'connect', phase: 'connect' },
    'closed before the answer': { onData: (socket) => socket.end(), kind: 'closed', phase: 'wait' },
    'reset before the answer': { onData: (socket) => socket.resetAndDestroy(), kind: 'reset', phase: 'wait' },
    'answer cut short': { onData: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok'), kind: 'closed', phase: 'receive', bytes: 2 },
    'not HTTP': { onData: (socket) => socket.write('220 smtp.example ESMTP\r\n\r\n'), kind: 'protocol', phase: 'wait' },
    'bad certificate': { secure: true, connect: {}, onData: answerOk, kind: 'tls', phase: 'tls' },
    'a line break in a header': { onData: answerOk, opts: () => ({ headers: { a: 'b\r\nc: d' } }), kind: 'other', phase: undefined }
  }
  for (const [name, { onData = answerOk, origin, kind, phase, bytes, opts = () => ({}), ...options }] of Object.entries(cases)) {
    test(name, () => withAgent(onData, options, async ({ server, agent, seen }) => {
      await assert.rejects(async () => {
        const response = await undici.request(origin ?? server.origin, { dispatcher: agent, method: 'POST', body: 'x', ...opts() })
        await response.body.text()
      })
      const record = await seen.last()
      assert.deepEqual([record.outcome, record.errorKind, record.errorPhase, record.bytesReceived], ['error', kind, phase, bytes])
      assert.equal(seen.records.length, 1)
      assertOrdered(record)
      if (phase !== undefined) {
        assert.ok(seen.names().includes(`${{ wait: 'requestE', receive: 'responseS' }[phase] ?? `${phase}S`}${phase === 'wait' ? 'nd' : 'tart'}`))
        assert.ok(record[`${phase}Ns`] > 0)
      }
    }))
  }
})

describe('a program that gives up is cancelled', () => {
  const reasons = { 'no reason': [], 'an Error of its own': [new Error('user left')], text: ['stop'], 'an object': [{ code: 42 }] }
  /** Called when the server has the request. */
  let arrived = () => {}
  const stall = (socket, data) => {
    if (data.includes('GET /body')) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf')
    setTimeout(arrived, 150)
  }
  /** @type {Record<string, (url: string, agent: any, signal: any) => Promise<any>>} */
  const calls = {
    request: async (url, dispatcher, signal) => (await undici.request(url, { dispatcher, signal })).body.text(),
    fetch: async (url, dispatcher, signal) => (await undici.fetch(url, { dispatcher, signal })).text(),
    stream: async (url, dispatcher, signal) => undici.stream(url, { dispatcher, signal, method: 'GET' }, () => new Writable({ write (chunk, encoding, callback) { callback() } }))
  }
  for (const [api, call] of Object.entries(calls)) {
    test(api, () => withAgent(stall, { connections: 4 }, async ({ server, agent, seen }) => {
      for (const [path, phase] of [['wait', 'wait'], ['body', 'receive']]) {
        for (const [name, reason] of Object.entries(reasons)) {
          seen.clear()
          const controller = new AbortController()
          arrived = () => controller.abort(...reason)
          await call(`${server.origin}/${path}`, agent, controller.signal).then(() => assert.fail('answered'), () => {})
          const record = await seen.last()
          assert.deepEqual([record.outcome, record.errorKind, record.errorPhase], ['cancelled', 'cancelled', phase], `${path}, ${name}`)
        }
      }
    }))
  }

  test('with a signal that is an EventEmitter', () => withAgent(stall, { connections: 4 }, async ({ server, agent, seen }) => {
    for (const path of ['wait', 'body']) {
      seen.clear()
      const signal = new EventEmitter()
      arrived = () => signal.emit('abort')
      await calls.request?.(`${server.origin}/${path}`, agent, signal).then(() => assert.fail('answered'), () => {})
      assert.equal((await seen.last()).outcome, 'cancelled', path)
    }
  }))

  test('by a time limit: that is an error, timeout', () => withAgent(stall, { connections: 4 }, async ({ server, agent, seen }) => {
    arrived = () => {}
    for (const api of ['request', 'fetch']) {
      seen.clear()
      await calls[api]?.(`${server.origin}/wait`, agent, AbortSignal.timeout(1000)).then(() => assert.fail('answered'), () => {})
      const record = await seen.last()
      assert.deepEqual([record.outcome, record.errorKind], ['error', 'timeout'], api)
    }
  }))

  test('a Writable of undici.stream() that fails is no ok', () => withAgent(stall, {}, async ({ server, agent, seen }) => {
    const writable = () => new Writable({ write (chunk, encoding, callback) { callback(new Error('disk full')) } })
    await assert.rejects(undici.stream(`${server.origin}/body`, { dispatcher: agent, method: 'GET' }, writable))
    assert.notEqual((await seen.last()).outcome, 'ok')
  }))

  test('a body that is not wanted is ok', () => withAgent(stall, { connections: 4 }, async ({ server, agent, seen }) => {
    const { body } = await undici.request(`${server.origin}/body`, { dispatcher: agent })
    body.on('error', () => {}).destroy()
    await (await undici.fetch(`${server.origin}/body`, { dispatcher: agent })).body?.cancel()
    await seen.last(2)
    for (const { outcome, status, receiveNs } of seen.records) assert.deepEqual([outcome, status, receiveNs], ['ok', 200, undefined])
  }))
})

test('a signal aborted while the body is sent: one record, and the connection is not used again', () => withAgent(answerOk, {}, async ({ send, seen }) => {
  const controller = new AbortController()
  async function * body () {
    yield 'a'
    controller.abort()
    await new Promise((resolve) => setImmediate(resolve))
    yield 'b'
  }
  await assert.rejects(send({ body: body(), signal: controller.signal }), { name: 'AbortError' })
  assert.equal((await seen.last()).outcome, 'cancelled')
  seen.clear()
  assert.equal(await (await send()).body.text(), 'ok')
  assert.equal((await seen.last()).reused, false)
}))

test('after an early answer there is no requestEnd, and no phase is longer than the total', () => withAgent((socket) => {
  socket.end('HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\nno')
}, {}, async ({ send, seen }) => {
  /** @type {(value?: unknown) => void} */
  let goOn = () => {}
  const over = new Promise((resolve) => { goOn = resolve })
  async function * endless () {
    yield 'x'.repeat(1000)
    await over
    yield 'y'
  }
  const response = await send({ body: endless() })
  assert.deepEqual([response.statusCode, await response.body.text()], [413, 'no'])
  const record = await seen.last()
  assert.deepEqual([record.outcome, record.sendNs, record.waitNs], ['ok', undefined, undefined])
  assert.ok(record.receiveNs <= record.totalNs)
  assertOrdered(record)
  goOn()
}))

test('a request that hangs has send and wait, when it times out', () => withAgent(() => {}, { headersTimeout: 1000 }, async ({ send, seen }) => {
  await assert.rejects(send(), { code: 'UND_ERR_HEADERS_TIMEOUT' })
  const record = await seen.last()
  assert.deepEqual([record.errorKind, record.errorPhase], ['timeout', 'wait'])
  assert.ok(record.sendNs > 0 && record.waitNs > 0)
}))

test('a 304 that announces a length is read, over fetch', () => withAgent((socket) => socket.write('HTTP/1.1 304 Not Modified\r\ncontent-length: 3\r\n\r\n'), {}, async ({ server, agent, seen }) => {
  assert.equal(await (await undici.fetch(server.origin, { dispatcher: agent })).text(), '')
  const record = await seen.last()
  assert.deepEqual([record.outcome, record.status, record.bytesReceived], ['ok', 304, 0])
}))

test('pipelined requests: each has its record, and no bytes of others', () => withAgent((socket, data) => {
  for (let left = data.toString().split('GET ').length - 1; left > 0; left--) socket.write(OK)
}, { pipelining: 4 }, async ({ send, seen }) => {
  await (await send({ method: 'GET', body: undefined })).body.text()
  const { bytesSent } = await seen.last()
  await Promise.all(Array.from({ length: 4 }, async () => (await send({ method: 'GET', body: undefined })).body.text()))
  await seen.last(5)
  for (const record of seen.records) {
    assert.equal(record.outcome, 'ok')
    assert.ok(record.waitNs > 0)
    assert.ok(record.bytesSent === undefined || record.bytesSent === bytesSent, `${record.bytesSent}`)
  }
}))

test('an upgrade ends the record and leaves the socket alone', () => withAgent((socket, data) => {
  if (data.toString().includes('upgrade')) socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
  else socket.write(data)
}, {}, async ({ agent, server, seen }) => {
  const { socket } = await agent.upgrade({ origin: server.origin, path: '/', protocol: 'echo' })
  for (const name of ['write', 'uncork']) assert.ok(!Object.hasOwn(socket, name), name)
  socket.write('hello')
  const [data] = await once(socket, 'data')
  assert.equal(data.toString(), 'hello')
  const record = await seen.last()
  assert.deepEqual([record.outcome, record.status], ['ok', 101])
  socket.destroy()
}))

test('a request on a closed dispatcher has no connection', () => withAgent(answerOk, {}, async ({ server }) => {
  const seen = recorder()
  const pool = new Pool(server.origin, { connections: 1, ...seen.hooks })
  const waiting = pool.request({ path: '/', method: 'GET' })
  const failed = assert.rejects(waiting)
  await pool.destroy()
  await failed
  await until(() => seen.records.length > 0)
  for (const { outcome, errorKind, connId } of seen.records) assert.deepEqual([outcome, errorKind, connId], ['error', 'pool', undefined])
}))

describe('one record for each request that is sent', () => {
  const once503 = () => {
    let answered = 0
    return (socket) => socket.write(answered++ === 0 ? 'HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n' : OK)
  }
  const redirect = (socket, data) => {
    if (data.toString().startsWith('GET /there')) answerOk(socket)
    else socket.write('HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n')
  }
  const check = async (seen, wanted) => {
    await seen.last(wanted.length)
    assert.deepEqual(seen.records.map(({ status }) => status), wanted)
    seen.records.forEach(assertOrdered)
  }

  test('undici\'s RetryAgent', () => withAgent(once503(), {}, async ({ agent, server, seen }) => {
    const dispatcher = new undici.RetryAgent(agent, { minTimeout: 5 })
    assert.equal(await (await undici.request(server.origin, { dispatcher })).body.text(), 'ok')
    await check(seen, [503, 200])
    // undici 7 hides its handler.
    assert.deepEqual(seen.records.map(({ resend }) => resend), [undefined, isUndici8 ? 1 : undefined])
  }))

  test('the interceptors retry and redirect', async () => {
    await withAgent(once503(), {}, async ({ agent, server, seen }) => {
      const dispatcher = agent.compose(undici.interceptors.retry({ minTimeout: 5 }))
      assert.equal(await (await undici.request(server.origin, { dispatcher })).body.text(), 'ok')
      await check(seen, [503, 200])
    })
    await withAgent(redirect, {}, async ({ agent, server, seen }) => {
      const dispatcher = agent.compose(undici.interceptors.redirect({ maxRedirections: 3 }))
      assert.equal(await (await undici.request(server.origin, { dispatcher })).body.text(), 'ok')
      await check(seen, [302, 200])
    })
  })

  test('a redirect that fetch follows', () => withAgent(redirect, {}, async ({ agent, server, seen }) => {
    await (await undici.fetch(server.origin, { dispatcher: agent })).text()
    await check(seen, [302, 200])
  }))

  test('none for an answer of undici\'s cache', () => withAgent((socket) => socket.write('HTTP/1.1 200 OK\r\ncache-control: max-age=60\r\ncontent-length: 2\r\n\r\nok'), {}, async ({ agent, server, seen }) => {
    const dispatcher = agent.compose(undici.interceptors.cache())
    for (let round = 0; round < 2; round++) assert.equal(await (await undici.request(server.origin, { dispatcher })).body.text(), 'ok')
    await new Promise((resolve) => setTimeout(resolve, 20))
    await check(seen, [200])
  }))

  test('none of a MockAgent, which makes pools of its own: what is mocked is answered, the rest goes through', () => withAgent(answerOk, {}, async ({ agent, server, seen }) => {
    const mock = new undici.MockAgent({ agent })
    mock.get('http://mocked.test').intercept({ path: '/' }).reply(200, 'mocked')
    assert.equal(await (await undici.request('http://mocked.test/', { dispatcher: mock })).body.text(), 'mocked')
    assert.equal(await (await undici.request(server.origin, { dispatcher: mock })).body.text(), 'ok')
    assert.deepEqual(seen.records, [])
  }))
})

test('without a hook no clock is read', () => countingClockReads(async (reads) => {
  const server = await startServer(answerOk)
  const readsWith = async (agent) => {
    const before = reads()
    for (let round = 0; round < 10; round++) await (await undici.request(server.origin, { dispatcher: agent, method: 'POST', body: (async function * () { yield 'a'; yield 'b' })() })).body.text()
    await agent.destroy()
    return reads() - before
  }
  try {
    assert.equal(await readsWith(new Agent({ connections: 1 })), 0)
    const timed = await readsWith(new Agent({ connections: 1, onTiming () {} }))
    assert.ok(timed >= 50, `${timed}`)
  } finally {
    await server.close()
  }
}))
