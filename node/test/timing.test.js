// Records and events of undici's requests. Durations, queues, interim answers, time limits: the judge's time/*.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, Pool, RetryAgent, withTimingId } from '../src/index.js'
import { countingClockReads } from './support/clock.js'
import { recorder, until } from './support/record.js'
import { answerOk, OK, startServer } from './support/server.js'
import { localhostIdentity } from './support/tap.js'

const FRESH = ['callStart', 'attemptStart', 'queueStart', 'queueEnd', 'dnsStart', 'dnsEnd', 'connectStart', 'connectEnd', 'tlsStart', 'tlsEnd',
  'connectionAcquired', 'requestStart', 'requestEnd', 'responseStart', 'headersEnd', 'responseEnd', 'connectionReleased', 'attemptEnd', 'callEnd']
const without = (...names) => FRESH.filter((name) => !names.includes(name))

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

function assertOrdered (events) {
  for (let index = 1; index < events.length; index++) {
    assert.ok(Number.isInteger(events[index].tNs))
    assert.ok(events[index].tNs >= events[index - 1].tNs, `${events[index].name} is before ${events[index - 1].name}`)
  }
}

test('a fresh and a reused connection on https', () => withAgent(answerOk, { secure: true }, async ({ send, seen }) => {
  await (await send()).body.text()
  const fresh = await seen.last()
  assert.deepEqual(seen.names(), FRESH)
  assertOrdered(seen.events)
  assert.equal(fresh.outcome, 'ok')
  assert.equal(fresh.status, 200)
  assert.equal(fresh.reused, false)
  assert.equal(fresh.attempts.length, 1)
  assert.equal(fresh.attempts[0].writes, 1)
  const at = Object.fromEntries(seen.events.map((event) => [event.name, event.tNs]))
  for (const [phase, from, to] of [['queue', 'queueStart', 'queueEnd'], ['dns', 'dnsStart', 'dnsEnd'], ['connect', 'connectStart', 'connectEnd'],
    ['tls', 'tlsStart', 'tlsEnd'], ['send', 'requestStart', 'requestEnd'], ['wait', 'requestEnd', 'responseStart'],
    ['receive', 'responseStart', 'responseEnd'], ['total', 'attemptStart', 'attemptEnd']]) {
    const ns = fresh.attempts[0][`${phase}Ns`]
    assert.ok(ns > 0, phase)
    assert.equal(ns, at[to] - at[from], phase)
  }

  seen.clear()
  await (await send()).body.text()
  const reused = await seen.last()
  assert.deepEqual(seen.names(), without('dnsStart', 'dnsEnd', 'connectStart', 'connectEnd', 'tlsStart', 'tlsEnd'))
  assert.equal(reused.reused, true)
  assert.equal(reused.connId, fresh.connId)
  assert.equal(reused.attempts[0].connRequests, 2)
  assert.ok(reused.attempts[0].idleNs > 0)
  for (const phase of ['dnsNs', 'connectNs', 'tlsNs']) assert.equal(reused[phase], undefined)
}))

test('an IP address has no dns phase', () => withAgent(answerOk, {}, async ({ server, agent, seen }) => {
  await (await undici.request(`http://127.0.0.1:${server.port}`, { dispatcher: agent })).body.text()
  assert.equal((await seen.last()).dnsNs, undefined)
  assert.deepEqual(seen.names(), without('dnsStart', 'dnsEnd', 'tlsStart', 'tlsEnd'))
}))

test('the clock is that of process.hrtime', () => withAgent(answerOk, {}, async ({ send, seen }) => {
  const before = Number(process.hrtime.bigint())
  await (await send()).body.text()
  await seen.last()
  const after = Number(process.hrtime.bigint())
  for (const event of seen.events) assert.ok(event.tNs >= before - 1000 && event.tNs <= after + 1000, event.name)
  assert.ok(Math.abs(seen.events[0].startedAtUnixNs / 1e6 - Date.now()) < 5000)
}))

describe('failures have a kind and a phase', () => {
  const cases = {
    'connection refused': { origin: 'http://localhost:1', kind: 'connect', phase: 'connect' },
    'unknown name': { origin: 'http://no-such-host.invalid', kind: 'dns', phase: 'dns' },
    'closed before the answer': { onData: (socket) => socket.end(), kind: 'closed', phase: 'wait' },
    'reset before the answer': { onData: (socket) => socket.resetAndDestroy(), kind: 'reset', phase: 'wait' },
    'answer cut short': { onData: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nok'), kind: 'closed', phase: 'receive' },
    'not HTTP': { onData: (socket) => socket.write('220 smtp.example ESMTP\r\n\r\n'), kind: 'protocol', phase: 'wait' },
    'bad certificate': { secure: true, connect: {}, onData: answerOk, kind: 'tls', phase: 'tls' },
    'a line break in a header': { onData: answerOk, opts: () => ({ headers: { a: 'b\r\nc: d' } }), kind: 'other', phase: undefined }
  }
  for (const [name, { onData = answerOk, origin, kind, phase, opts = () => ({}), ...options }] of Object.entries(cases)) {
    test(name, () => withAgent(onData, options, async ({ server, agent, seen }) => {
      await assert.rejects(async () => {
        const response = await undici.request(origin ?? server.origin, { dispatcher: agent, method: 'POST', body: 'x', ...opts() })
        await response.body.text()
      })
      const timing = await seen.last()
      assert.equal(timing.outcome, 'error')
      assert.equal(timing.errorKind, kind)
      assert.equal(timing.errorPhase, phase)
      assert.equal(seen.timings.length, 1)
      assert.equal(seen.names().filter((each) => each === 'callEnd').length, 1)
      assertOrdered(seen.events)
      for (const started of seen.names().filter((each) => /^(queue|dns|connect|tls)Start$/.test(each))) {
        assert.ok(seen.names().includes(started.replace('Start', 'End')), started)
      }
    }))
  }
})

describe('a signal aborted while the body is sent', () => {
  for (const [name, body] of Object.entries({
    'async iterator': (step) => (async function * () { yield 'a'; await step(); yield 'b' })(),
    'web stream': (step) => ReadableStream.from((async function * () { yield Buffer.from('a'); await step(); yield Buffer.from('b') })()),
    'form with a file that never ends': (step) => {
      const form = new undici.FormData()
      const file = new File(['x'], 'f')
      Object.defineProperty(file, 'size', { value: 1e6 })
      Object.defineProperty(file, 'stream', { value: () => ReadableStream.from((async function * () { yield Buffer.from('a'); await step(); yield Buffer.from('b') })()) })
      form.append('f', file)
      return form
    }
  })) {
    test(name, () => withAgent(answerOk, {}, async ({ send, seen }) => {
      const controller = new AbortController()
      const step = async () => { controller.abort(); await new Promise((resolve) => setImmediate(resolve)) }
      await assert.rejects(send({ body: body(step), signal: controller.signal }), { name: 'AbortError' })
      const timing = await seen.last()
      assert.equal(timing.outcome, 'cancelled')
      assert.equal(seen.timings.length, 1)
      assertOrdered(seen.events)
      seen.clear()
      // A connection with half a message is not used again.
      assert.equal(await (await send()).body.text(), 'ok')
      assert.equal((await seen.last()).reused, false)
    }))
  }
})

test('after an early answer there is no requestEnd', () => withAgent((socket) => {
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
  assert.equal(response.statusCode, 413)
  assert.equal(await response.body.text(), 'no')
  const timing = await seen.last()
  assert.equal(timing.sendNs, undefined)
  assert.equal(timing.waitNs, undefined)
  assertOrdered(seen.events)
  goOn()
}))

test('withTimingId names the calls made in it, through fetch too', () => withAgent(answerOk, {}, async ({ server, agent, seen }) => {
  const options = /** @type {any} */ ({ dispatcher: agent })
  await Promise.all(['a', 'b'].map((id) => withTimingId(id, async () => (await undici.fetch(server.origin, options)).text())))
  await seen.last()
  assert.deepEqual(seen.timings.map((timing) => timing.id).sort(), ['a', 'b'])
  assert.ok(seen.events.every((event) => event.id === 'a' || event.id === 'b'))
}))

test('methods of the listener are called on it, before onEvent', () => withAgent(answerOk, {}, async ({ server }) => {
  const heard = []
  const listener = {
    prefix: 'on',
    onResponseStart (event) { heard.push(`${this.prefix} ${event.name}`) },
    onEvent (event) { if (event.name === 'responseStart') heard.push('any') }
  }
  const pool = new Pool(server.origin, { listener })
  await (await pool.request({ path: '/', method: 'GET' })).body.text()
  await pool.close()
  assert.deepEqual(heard, ['on responseStart', 'any'])
}))

describe('a listener with one method gets that event alone, the same as onEvent gets', () => {
  const keys = (object) => Object.keys(object).filter((key) => object[key] !== undefined).sort()
  const once = async (hooks, origin) => {
    const timings = []
    const agent = new Agent({ connections: 1, connect: { ca: localhostIdentity().cert }, onTiming: (timing) => timings.push(timing), ...hooks })
    try {
      await withTimingId('one', async () => (await undici.request(origin, { dispatcher: agent, method: 'POST', body: 'x' })).body.text())
      await until(() => timings.length === 1)
      return timings[0]
    } finally {
      await agent.destroy()
    }
  }
  let server
  const all = []
  let known
  before(async () => {
    server = await startServer((socket) => socket.write(`HTTP/1.1 103 Early Hints\r\n\r\n${OK}`), { secure: true })
    known = await once({ listener: { onEvent: (event) => all.push(event) } }, server.origin)
  })
  after(() => server.close())

  test('a record is the same without a listener', async () => assert.deepEqual(keys((await once({}, server.origin)).attempts[0]), keys(known.attempts[0])))
  for (const name of [...FRESH, 'informational']) {
    test(name, async () => {
      const heard = []
      const timing = await once({ listener: { [`on${name[0].toUpperCase()}${name.slice(1)}`]: (event) => heard.push(event) } }, server.origin)
      assert.deepEqual(heard.map((event) => event.name), [name])
      assert.deepEqual(keys(heard[0]), keys(all.find((event) => event.name === name)))
      assert.equal(heard[0].id, 'one')
      assert.deepEqual(keys(timing.attempts[0]), keys(known.attempts[0]))
      assert.equal(timing.outcome, 'ok')
    })
  }
})

test('pipelined requests each have their own writes', () => withAgent((socket, data) => {
  for (let left = data.toString().split('GET ').length - 1; left > 0; left--) socket.write(OK)
}, { pipelining: 4 }, async ({ send, seen }) => {
  await (await send({ method: 'GET', body: undefined })).body.text()
  await Promise.all(Array.from({ length: 4 }, async () => (await send({ method: 'GET', body: undefined })).body.text()))
  await seen.last()
  assert.equal(seen.timings.length, 5)
  for (const timing of seen.timings) {
    assert.equal(timing.outcome, 'ok')
    assert.ok(timing.waitNs > 0)
    assert.equal(timing.attempts[0].writes, 1)
  }
}))

test('an upgrade ends the call and leaves the socket alone', () => withAgent((socket, data) => {
  if (data.toString().includes('upgrade')) socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n')
  else socket.write(data)
}, {}, async ({ agent, server, seen }) => {
  const { socket } = await agent.upgrade({ origin: server.origin, path: '/', protocol: 'echo' })
  socket.write('hello')
  const [data] = await once(socket, 'data')
  assert.equal(data.toString(), 'hello')
  assert.equal((await seen.last()).status, 101)
  socket.destroy()
}))

test('event.timing is the record that is being filled, which onTiming gets at the end', () => withAgent(answerOk, {}, async ({ server }) => {
  const [texts, timings] = [[], []]
  const listener = {
    onEvent: ({ name, timing }) => {
      texts.push([name, { timing, ...timing.toJSON(), attempts: timing.attempts.map(({ queueNs, waitNs }) => [queueNs, waitNs]) }])
    }
  }
  const agent = new Agent({ listener, onTiming: (timing) => timings.push(timing) })
  try {
    await (await undici.request(server.origin, { dispatcher: agent, method: 'POST', body: 'x' })).body.text()
    await until(() => timings.length === 1)
  } finally {
    await agent.destroy()
  }
  const at = Object.fromEntries(texts)
  assert.deepEqual(at.callStart.attempts, [[undefined, undefined]])
  assert.ok(at.requestEnd.queue_ns > 0 && at.requestEnd.send_ns > 0 && at.requestEnd.conn_id > 0)
  assert.equal(at.requestEnd.receive_ns, undefined)
  assert.equal(at.headersEnd.status, 200)
  for (const { timing } of Object.values(at)) assert.equal(timing, timings[0])
}))

test('a record cannot be changed, so each hook gets the same', () => withAgent(answerOk, {}, async ({ send, seen }) => {
  await (await send()).body.text()
  const timing = await seen.last()
  const { status, attempts: [attempt] } = timing
  assert.throws(() => { timing.status = 1 }, TypeError)
  assert.throws(() => { attempt.status = 1 }, TypeError)
  assert.throws(() => timing.attempts.push(attempt), TypeError)
  assert.deepEqual([timing.status, attempt.status, timing.attempts.length], [status, status, 1])
}))

describe('with interceptors composed on the agent', () => {
  const once503 = () => {
    let answered = 0
    return (socket) => socket.write(answered++ === 0 ? 'HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n' : OK)
  }

  test('around a dispatcher without hooks RetryAgent is undici\'s', () => withAgent(once503(), {}, async ({ server }) => {
    for (const agent of [new Agent(), new undici.Agent()]) {
      const dispatcher = new RetryAgent(agent, { minTimeout: 5 })
      const response = await undici.request(server.origin, { dispatcher })
      assert.equal(await response.body.text(), 'ok')
      await dispatcher.close()
    }
  }))

  test('around undici\'s own RetryAgent each try is a record', () => withAgent(once503(), {}, async ({ agent, server, seen }) => {
    const dispatcher = new undici.RetryAgent(agent, { minTimeout: 5 })
    await (await withTimingId('mine', () => undici.request(server.origin, { dispatcher }))).body.text()
    await seen.last()
    assert.deepEqual(seen.timings.map(({ id, status }) => [id, status]), [['mine', 503], ['mine', 200]])
  }))

  const redirect = (socket, data) => {
    if (data.toString().startsWith('GET /there')) answerOk(socket)
    else socket.write('HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 0\r\n\r\n')
  }

  test('a redirect that fetch follows is a record of its own with the same id', () => withAgent(redirect, {}, async ({ agent, server, seen }) => {
    await withTimingId('mine', async () => (await undici.fetch(server.origin, /** @type {any} */ ({ dispatcher: agent }))).text())
    await seen.last()
    assert.deepEqual(seen.timings.map(({ id, status }) => [id, status]), [['mine', 302], ['mine', 200]])
  }))

  test('a redirect is an attempt of the same call', () => withAgent(redirect, {}, async ({ agent, server, seen }) => {
    const dispatcher = agent.compose([undici.interceptors.redirect({ maxRedirections: 3 })])
    const response = await dispatcher.request({ origin: server.origin, path: '/', method: 'GET' })
    assert.equal(await response.body.text(), 'ok')
    const timing = await seen.last()
    assert.deepEqual(timing.attempts.map(({ status }) => status), [302, 200])
    assert.equal(seen.timings.length, 1)
    assertOrdered(seen.events)
  }))

  test('a call that fails for good has one record and the last failure', () => withAgent((socket) => socket.resetAndDestroy(), {}, async ({ agent, server, seen }) => {
    const dispatcher = agent.compose(undici.interceptors.retry({ minTimeout: 5, maxRetries: 2, methods: ['GET'], errorCodes: ['ECONNRESET'] }))
    await assert.rejects(undici.request(server.origin, { dispatcher }))
    const timing = await seen.last()
    assert.equal(seen.timings.length, 1)
    assert.deepEqual(timing.attempts.map(({ outcome }) => outcome), ['error', 'error', 'error'])
    assert.equal(timing.errorKind, 'reset')
    assert.equal(timing.errorPhase, 'wait')
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
