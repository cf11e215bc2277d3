// A call has one record, whatever stands between the caller and the connection; over HTTP/2 its phases are right or absent.

import assert from 'node:assert/strict'
import http from 'node:http'
import http2 from 'node:http2'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, clientFactory, HttpAgent, Pool, RetryAgent } from '../src/index.js'
import { recorder, until } from './support/record.js'
import { answerOk, startServer } from './support/server.js'
import { localhostIdentity } from './support/tap.js'

/** Passes on to another handler, as interceptors do. */
class Wrapping {
  constructor (handler) { this.handler = handler }
  onRequestStart (...args) { return this.handler.onRequestStart?.(...args) ?? this.handler.onConnect?.((reason) => args[0].abort(reason), args[1]) }
  onResponseStart (controller, status, headers, text) {
    return this.handler.onResponseStart ? this.handler.onResponseStart(controller, status, headers, text) : this.handler.onHeaders(status, controller.rawHeaders, () => controller.resume(), text)
  }

  onResponseData (controller, chunk) { return this.handler.onResponseData ? this.handler.onResponseData(controller, chunk) : this.handler.onData(chunk) }
  onResponseEnd (controller, trailers) { return this.handler.onResponseEnd ? this.handler.onResponseEnd(controller, trailers) : this.handler.onComplete([]) }
  onResponseError (controller, error) { return this.handler.onResponseError ? this.handler.onResponseError(controller, error) : this.handler.onError(error) }
}

const rebuilt = ({ origin, path, method, headers, body }) => ({ origin, path, method, headers, body })
/** @type {Record<string, any>} */
const interceptors = {
  'passes on': (dispatch) => (opts, handler) => dispatch(opts, handler),
  'copies the options': (dispatch) => (opts, handler) => dispatch({ ...opts, extra: 1 }, handler),
  'makes its own options': (dispatch) => (opts, handler) => dispatch(rebuilt(opts), handler),
  'wraps the handler': (dispatch) => (opts, handler) => dispatch(opts, new Wrapping(handler)),
  'makes its own options and wraps the handler': (dispatch) => (opts, handler) => dispatch(rebuilt(opts), new Wrapping(handler)),
  'makes its own options, later': (dispatch) => (opts, handler) => { setImmediate(() => dispatch(rebuilt(opts), handler)); return true },
  'makes its own options and wraps the handler, later': (dispatch) => (opts, handler) => {
    setImmediate(() => dispatch(rebuilt(opts), new Wrapping(handler)))
    return true
  },
  'changes the path, makes its own options and wraps the handler': (dispatch) => (opts, handler) => dispatch({ ...rebuilt(opts), path: `/v1${opts.path}` }, new Wrapping(handler))
}

describe('an interceptor that', () => {
  for (const [name, interceptor] of Object.entries(interceptors)) {
    test(name, async () => {
      const server = await startServer(answerOk)
      for (const [way, compose] of Object.entries({
        once: (agent) => agent.compose(interceptor),
        twice: (agent) => agent.compose(interceptor).compose(interceptor),
        'below a retry': (agent) => agent.compose(interceptor, undici.interceptors.retry()),
        'above a retry': (agent) => agent.compose(undici.interceptors.retry(), interceptor),
        'in a RetryAgent': (agent) => new RetryAgent(agent.compose(interceptor))
      })) {
        const seen = recorder()
        const agent = new Agent({ connections: 1, ...seen.hooks })
        const dispatcher = compose(agent)
        for (const round of [1, 2]) {
          const { body } = await undici.request(server.origin, { dispatcher })
          assert.equal(await body.text(), 'ok')
          await until(() => seen.timings.length === round)
        }
        await new Promise((resolve) => setTimeout(resolve, 5))
        assert.deepEqual(seen.timings.map(({ attempts, outcome }) => [outcome, attempts.map(({ index, status }) => [index, status])]), [['ok', [[0, 200]]], ['ok', [[0, 200]]]], `${name}, ${way}`)
        // A listener gets the events of one call, too.
        const calls = seen.events.filter(({ name }) => name.startsWith('call') || name.startsWith('attempt'))
        assert.deepEqual(calls.map(({ name, attempt, timing }) => [name, attempt, seen.timings.indexOf(timing)]), [0, 1].flatMap((call) =>
          [['callStart', undefined, call], ['attemptStart', 0, call], ['attemptEnd', 0, call], ['callEnd', 0, call]]), `${name}, ${way}`)
        await agent.destroy()
      }
      await server.close()
    })
  }

  for (const [name, interceptor] of Object.entries(interceptors)) {
    test(`${name}, when the connection fails`, async () => {
      const seen = recorder()
      const agent = new Agent(seen.hooks)
      await assert.rejects(undici.request('http://127.0.0.1:1', { dispatcher: agent.compose(interceptor) }), { code: 'ECONNREFUSED' })
      await new Promise((resolve) => setTimeout(resolve, 5))
      assert.deepEqual(seen.timings.map(({ errorKind, errorPhase, attempts }) => [errorKind, errorPhase, attempts.length]), [['connect', 'connect', 1]])
      await agent.destroy()
    })
  }

  test('makes a request of its own: that has a record of its own', async () => {
    const server = await startServer(answerOk)
    const seen = recorder()
    const agent = new Agent({ connections: 2, ...seen.hooks })
    const login = (dispatch) => (opts, handler) => {
      undici.request(`${server.origin}/token`, { dispatcher: agent }).then(({ body }) => body.text()).then(() => dispatch(rebuilt(opts), handler))
      return true
    }
    const { body } = await undici.request(`${server.origin}/app`, { dispatcher: agent.compose(login) })
    await body.text()
    await until(() => seen.timings.length === 2)
    assert.deepEqual(seen.timings.map(({ url, attempts }) => [url.slice(server.origin.length), attempts.length]), [['/token', 1], ['/app', 1]])
    await agent.destroy()
    await server.close()
  })
})

test('what an interceptor calls on a handler of undici it can call on ours: the cache answers 504', async () => {
  const seen = recorder()
  const agent = new Agent(seen.hooks)
  const statuses = []
  const spying = (dispatch) => (opts, handler) => dispatch(opts, new Proxy(handler, {
    get: (target, name) => typeof target[name] === 'function' ? target[name].bind(target) : target[name]
  }))
  for (const dispatcher of [agent.compose(undici.interceptors.cache()), agent.compose(undici.interceptors.cache()).compose(spying)]) {
    const { statusCode, body } = await undici.request('http://127.0.0.1:1/', { dispatcher, headers: { 'cache-control': 'only-if-cached' }, signal: AbortSignal.timeout(5000) })
    await body.dump()
    statuses.push(statusCode)
  }
  assert.deepEqual(statuses, [504, 504])
  assert.deepEqual(seen.timings.map(({ status, attempts }) => [status, attempts.length]), [[504, 0], [504, 0]])
  await agent.close()
})

test('a retry is an attempt of the same call, above and below any interceptor', async () => {
  let count = 0
  const server = await startServer((socket) => count++ % 2 === 0 ? socket.write('HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n') : answerOk(socket))
  const attempt = (at) => ['attemptStart', 'queueStart', 'queueEnd', 'attemptEnd'].map((each) => each + at)
  const retry = undici.interceptors.retry({ minTimeout: 1 })
  const joined = ['callStart', ...attempt(0), ...attempt(1), 'callEnd1']
  for (const [name, chain, statuses, events] of /** @type {[string, any[], number[][], string[]][]} */ ([
    ...Object.entries(interceptors).map(([name, each]) => [name, [retry, each], [[503, 200]], joined]),
    ...Object.entries(interceptors).map(([name, each]) => [name, [each, retry], [[503, 200]], joined])
  ])) {
    const seen = recorder()
    const agent = new Agent({ connections: 1, ...seen.hooks })
    assert.equal(await (await undici.request(server.origin, { dispatcher: agent.compose(...chain) })).body.text(), 'ok')
    await until(() => seen.timings.length === statuses.length)
    assert.deepEqual(seen.timings.map(({ attempts }) => attempts.map(({ status }) => status)), statuses, name)
    assert.deepEqual(seen.events.filter(({ name }) => /^(call|attempt|queue)/.test(name)).map(({ name, attempt }) => name + (attempt ?? '')), events, name)
    await agent.destroy()
  }
  await server.close()
})

test('a composed call that runs delays no event of other requests', { timeout: 20_000 }, async () => {
  const answers = []
  const server = await startServer((socket) => answers.push(() => answerOk(socket)))
  const seen = recorder()
  const names = () => seen.names().join(' ')
  const agent = new Agent({ connections: 1, ...seen.hooks })
  const send = (dispatcher) => undici.request(server.origin, { dispatcher }).then(({ body }) => body.text())
  const first = send(agent.compose(undici.interceptors.retry()))
  await until(() => answers.length === 1)
  // It waits for the connection; a handler above may still take it as an attempt, so it tells nothing.
  seen.clear()
  const second = send(agent).catch(() => {})
  assert.equal(names(), '')
  // An interceptor that passes the request to nobody.
  new Agent(recorder().hooks).compose(() => (opts, handler) => true).dispatch({ origin: server.origin, path: '/', method: 'GET' }, new Wrapping({}))
  const other = recorder()
  const httpAgent = new HttpAgent(other.hooks)
  const request = http.get(server.origin, { agent: httpAgent }).on('error', () => {})
  await until(() => answers.length === 2)
  assert.equal(other.names().at(-1), 'connectionAcquired')
  request.destroy()
  answers[0]()
  assert.equal(await first, 'ok')
  await until(() => seen.timings.length === 1)
  await agent.destroy()
  await second
  await server.close()
})

test('of an Agent, a pool in it and its clients the hooks of the uppermost that has some are called, with one record', async () => {
  const server = await startServer(answerOk)
  for (const uppermost of [0, 1, 2]) {
    const all = [recorder(), recorder(), recorder()]
    const [ofAgent, ofPool, ofClient] = all.map(({ hooks }, index) => index < uppermost ? {} : hooks)
    const agent = new Agent({
      ...ofAgent,
      factory: (origin, options) => new Pool(origin, { ...options, ...ofPool, factory: clientFactory(ofClient) })
    })
    for (const [round, dispatcher] of [agent, agent.compose(undici.interceptors.retry())].entries()) {
      assert.equal(await (await undici.request(server.origin, { dispatcher })).body.text(), 'ok')
      await until(() => all[uppermost].timings.length === round + 1)
      await new Promise((resolve) => setTimeout(resolve, 5))
      const counts = [0, 0, 0]
      counts[uppermost] = round + 1
      assert.deepEqual(all.map(({ timings }) => timings.length), counts)
      assert.deepEqual(all.map(({ events }) => events.filter(({ name }) => name === 'callEnd').length), counts)
      assert.deepEqual(all[uppermost].timings.at(-1).attempts.map(({ status, writes }) => [status, writes]), [[200, 1]])
    }
    await agent.destroy()
  }
  await server.close()
})

describe('HTTP/2', () => {
  const withAgent = async (options, run) => {
    const server = http2.createSecureServer(localhostIdentity(), (request, response) => {
      const ms = Number(new URL(request.url ?? '', 'http://x').searchParams.get('ms') ?? 0)
      request.resume()
      setTimeout(() => response.end('ok'), ms)
    })
    await new Promise((resolve) => server.listen(0, () => resolve(undefined)))
    const seen = recorder()
    const agent = new Agent({ connections: 1, allowH2: true, connect: { ca: localhostIdentity().cert }, ...seen.hooks, ...options })
    try {
      const { port } = /** @type {any} */ (server.address())
      await run((path, opts) => undici.request(`https://localhost:${port}${path}`, { dispatcher: agent, ...opts }).then(({ body }) => body.text()), seen)
    } finally {
      await agent.destroy()
      server.close()
    }
  }
  const MS = 1e6

  test('a slow answer is no queue, and an idle connection is idle for as long as it was', () => withAgent({}, async (send, seen) => {
    await send('/')
    await until(() => seen.timings.length === 1)
    await new Promise((resolve) => setTimeout(resolve, 30))
    for (const opts of [{}, { method: 'POST', body: 'x'.repeat(200) }]) await send('/?ms=600', opts)
    await until(() => seen.timings.length === 3)
    const [first, ...others] = seen.timings
    assert.ok(first.connectNs > 0 && first.tlsNs > 0 && first.reused === false)
    const endOf = ({ startedAtMonoNs, totalNs }) => startedAtMonoNs + totalNs
    for (const [index, timing] of others.entries()) {
      const { last, reused, queueNs, waitNs, sendNs, totalNs } = timing
      assert.equal(reused, true)
      // The server's 600 ms are part of neither.
      assert.ok(queueNs + (sendNs ?? 0) + 590 * MS < totalNs, `queue ${queueNs}, send ${sendNs}`)
      assert.ok(waitNs === undefined || (waitNs > 590 * MS && waitNs < totalNs), `wait ${waitNs}`)
      assert.ok(last.idleNs + 590 * MS < endOf(timing) - endOf(seen.timings[index]), `idle ${last.idleNs}`)
      assert.deepEqual([last.writes, last.bytesSent], [undefined, undefined])
    }
  }))

  test('requests that share a connection have each their own wait', () => withAgent({}, async (send, seen) => {
    await send('/')
    await Promise.all([200, 100, 1].map((ms) => send(`/?ms=${ms}`, { method: 'POST', body: 'x' })))
    await until(() => seen.timings.length === 4)
    for (const { url, last } of seen.timings.slice(1)) {
      const ms = Number(url.split('=')[1])
      assert.ok(last.queueNs + (last.waitNs ?? 0) + last.receiveNs <= last.totalNs + MS)
      if (last.waitNs !== undefined) assert.ok(last.waitNs >= (ms - 1) * MS && last.waitNs < last.totalNs, `${url}: ${last.waitNs}`)
    }
  }))

  test('a stream is sent, and what cannot be timed is absent', () => withAgent({}, async (send, seen) => {
    const body = async function * () { yield 'a'; await new Promise((resolve) => setTimeout(resolve, 50)); yield 'b' }
    assert.equal(await send('/', { method: 'POST', body: body() }), 'ok')
    await until(() => seen.timings.length === 1)
    assert.deepEqual([seen.timings[0].sendNs, seen.timings[0].waitNs], [undefined, undefined])
  }))
})

test('options of a request that a class gives by getters reach undici', async () => {
  const server = await startServer(answerOk)
  class Options {
    #path = '/x'
    get path () { return this.#path }
    get method () { return 'POST' }
    get origin () { return server.origin }
  }
  const agent = new Agent(recorder().hooks)
  const through = (dispatch) => (opts, handler) => dispatch(opts, handler)
  for (const dispatcher of [agent, agent.compose(through), new RetryAgent(agent)]) {
    assert.equal(await new Promise((resolve, reject) => dispatcher.dispatch(new Options(), {
      onRequestStart () {},
      onResponseStart (_, status) { resolve(status) },
      onResponseData () {},
      onResponseEnd () {},
      onResponseError: (_, error) => reject(error)
    })), 200)
  }
  await agent.destroy()
  await server.close()
})
