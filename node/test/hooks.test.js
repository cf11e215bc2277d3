// A hook cannot hurt: whatever it throws or returns, the request goes on. It gets the asynchronous context of its request.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import http from 'node:http'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, hookFailures, HttpAgent } from '../src/index.js'
import { until } from './support/record.js'
import { answerOk, startServer } from './support/server.js'

const throwing = (names) => Object.create(Error.prototype, Object.fromEntries(names.map((name) => [name, { get () { throw new Error('no') } }])))
const trap = () => { throw new Error('no') }
/** What a hook may throw, reject with or return. @type {Record<string, () => any>} */
const values = {
  'an Error': () => new Error('a bug'),
  'an object without prototype': () => Object.create(null),
  'an Error with throwing getters': () => throwing(['stack', 'message', 'name', 'code', 'cause', 'toString', 'then', 'constructor']),
  'an Error whose stack is an object without prototype': () => Object.assign(new Error(), { stack: Object.create(null) }),
  'a hostile Proxy': () => new Proxy({}, new Proxy({}, { get: () => trap })),
  'a revoked Proxy': () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy },
  'a symbol': () => Symbol('no'),
  undefined: () => undefined,
  null: () => null,
  'an object whose toString throws': () => ({ toString: trap, [Symbol.toPrimitive]: trap })
}
/** @type {Record<string, (value: () => any) => () => any>} */
const ways = {
  throws: (value) => () => { throw value() },
  rejects: (value) => async () => { throw value() },
  'returns a thenable that rejects with': (value) => () => ({ then (resolve, reject) { reject(value()) } }),
  'returns a thenable that throws': (value) => () => ({ then () { throw value() } }),
  'returns an object whose then throws': (value) => () => Object.defineProperty({}, 'then', { get () { throw value() } })
}
/** @type {Record<string, (hooks: any) => {call: (origin: string) => Promise<string>, close: () => any}>} */
const apis = {
  undici: (hooks) => {
    const agent = new Agent({ connections: 1, ...hooks })
    return { call: async (origin) => (await undici.request(origin, { dispatcher: agent })).body.text(), close: () => agent.destroy() }
  },
  'node:http': (hooks) => {
    const agent = new HttpAgent({ keepAlive: true, ...hooks })
    const call = (origin) => new Promise((resolve, reject) => {
      http.get(origin, { agent }, (response) => response.setEncoding('utf8').on('data', resolve)).on('error', reject)
    })
    return { call, close: () => agent.destroy() }
  }
}

/** @type {string[]} */
const warnings = []
process.on('warning', ({ code, message }) => { if (code === 'ONEWRITE_HOOK_FAILED') warnings.push(message) })

for (const [api, make] of Object.entries(apis)) {
  describe(api, () => {
    for (const [way, hookOf] of Object.entries(ways)) {
      test(`a hook that ${way} any value changes nothing and is counted`, async (t) => {
        /** @type {unknown[]} */
        const lost = []
        const onLost = (reason) => lost.push(reason)
        process.on('unhandledRejection', onLost).on('uncaughtException', onLost)
        const server = await startServer(answerOk)
        try {
          for (const [name, value] of Object.entries(values)) {
            const before = hookFailures()
            const hook = hookOf(value)
            let calls = 0
            const counting = () => { calls++; return hook() }
            const { call, close } = make({ onTiming: counting, listener: { onEvent: counting } })
            for (let round = 0; round < 2; round++) assert.equal(await call(server.origin), 'ok', name)
            await until(() => calls > 30 && hookFailures() - before === calls)
            assert.equal(hookFailures() - before, calls, name)
            await close()
          }
          assert.equal(lost.length, 0)
        } finally {
          process.off('unhandledRejection', onLost).off('uncaughtException', onLost)
          await server.close()
        }
      })
    }

    test('what else a hook returns is ignored', async () => {
      const server = await startServer(answerOk)
      const before = hookFailures()
      for (const result of [1, 'x', Symbol('x'), () => { throw new Error('not called') }, Promise.resolve(1), { then: 1 }, new Proxy({}, {})]) {
        const { call, close } = make({ onTiming: () => result, listener: { onEvent: () => result } })
        assert.equal(await call(server.origin), 'ok')
        await close()
      }
      await server.close()
      assert.equal(hookFailures(), before)
    })

    test('a request that a hook makes calls no hook', async () => {
      const server = await startServer(answerOk)
      for (const begin of /** @type {((call: () => any) => any)[]} */ ([(call) => call(), async (call) => { await null; return call() },
        (call) => new Promise((resolve) => setTimeout(() => resolve(call()), 5)), (call) => { call().catch(() => {}) }])) {
        const [urls, others, nested] = [[], [], []]
        const { call, close } = make({
          onTiming: (timing) => {
            urls.push(timing.url)
            return begin(() => {
              const sent = call(`${server.origin}/metrics`)
              nested.push(sent)
              return sent
            })
          },
          listener: { onCallEnd: ({ timing }) => others.push(timing.url) }
        })
        await call(`${server.origin}/app`)
        await until(() => nested.length > 0)
        await Promise.all(nested)
        await new Promise((resolve) => setTimeout(resolve, 20))
        assert.deepEqual(urls, [`${server.origin}/app`])
        assert.deepEqual(others, [`${server.origin}/app`])
        await close()
      }
      await server.close()
    })

    test('a hook has the asynchronous context of its own request, on a new connection and on a reused one', async () => {
      const server = await startServer((socket) => setTimeout(answerOk, 2, socket))
      const storage = new AsyncLocalStorage()
      const [stores, ofEvents] = [[], new Set()]
      const { call, close } = make({
        onTiming: ({ url }) => stores.push([url.slice(-2), storage.getStore()]),
        listener: { onEvent: ({ timing, name }) => ofEvents.add(`${timing.url.slice(-2)} ${storage.getStore()}`) }
      })
      for (const name of ['/a', '/b', '/c']) await storage.run(name, () => call(server.origin + name))
      // The second waits for the connection of the first.
      await Promise.all(['/d', '/e'].map((name) => storage.run(name, () => call(server.origin + name))))
      await until(() => stores.length === 5)
      await close()
      await server.close()
      assert.deepEqual(stores.sort(), ['/a', '/b', '/c', '/d', '/e'].map((name) => [name, name]))
      assert.deepEqual([...ofEvents].sort(), ['/a', '/b', '/c', '/d', '/e'].map((name) => `${name} ${name}`))
    })
  })
}

test('the built-in fetch: the hook has the context of its request', async () => {
  const server = await startServer(answerOk)
  const storage = new AsyncLocalStorage()
  const stores = []
  const agent = new Agent({ connections: 1, onTiming: ({ url }) => stores.push([url.slice(-2), storage.getStore()]) })
  for (const name of ['/a', '/b']) await storage.run(name, async () => (await undici.fetch(server.origin + name, { dispatcher: agent })).text())
  await until(() => stores.length === 2)
  await agent.destroy()
  await server.close()
  assert.deepEqual(stores, [['/a', '/a'], ['/b', '/b']])
})

test('a caller may abort with any value', async () => {
  const server = await startServer(() => {})
  for (const [name, value] of Object.entries(values)) {
    const timings = []
    const agent = new Agent({ connections: 1, onTiming: (timing) => timings.push(timing) })
    const controller = new AbortController()
    const sent = undici.request(server.origin, { dispatcher: agent, signal: controller.signal })
    setTimeout(() => controller.abort(value()), 10)
    await sent.then(() => assert.fail('answered'), () => {})
    await until(() => timings.length === 1)
    assert.equal(timings[0].outcome, 'cancelled', name)
    await agent.destroy()
  }
  await server.close()
})

describe('fetch', () => {
  for (const event of ['onCallStart', 'onAttemptStart', 'onQueueStart', 'onConnectionAcquired', 'onRequestStart', 'onResponseStart']) {
    test(`an abort in ${event} rejects, and nothing is uncaught`, async (t) => {
      const server = await startServer(answerOk)
      const controllers = [null, new AbortController()]
      /** @type {(AbortController | null | undefined)[]} */
      const called = []
      const agent = new Agent({
        connections: 1,
        listener: { [event]: () => { called.push(controllers[0]); controllers.shift()?.abort() } }
      })
      t.after(async () => { await agent.destroy(); await server.close() })
      /** @type {unknown[]} */
      const uncaught = []
      const onUncaught = (error) => uncaught.push(error)
      process.on('uncaughtException', onUncaught)
      t.after(() => process.off('uncaughtException', onUncaught))
      const send = (signal) => undici.fetch(server.origin, { method: 'POST', body: 'x', dispatcher: agent, signal })
      await (await send()).text()
      assert.deepEqual(called, [null])
      await assert.rejects(send(controllers[0]?.signal), { name: 'AbortError' })
      assert.equal(called.length, 2)
      assert.deepEqual(uncaught, [])
    })
  }

  test('onCallStart alone is called when the call starts', async (t) => {
    const server = await startServer(() => {})
    const controller = new AbortController()
    const agent = new Agent({ connections: 1, listener: { onCallStart: () => controller.abort() } })
    t.after(async () => { await agent.destroy(); await server.close() })
    await assert.rejects(undici.request(server.origin, { dispatcher: agent, signal: controller.signal }), { name: 'AbortError' })
  })
})

test('a request that a hook makes while undici fails another is answered', { timeout: 20_000 }, async () => {
  const server = await startServer(answerOk)
  /** @type {Promise<string> | undefined} */
  let answer
  const send = async () => (await undici.request(server.origin, { dispatcher: agent })).body.text()
  const agent = new Agent({ connections: 1, pipelining: 4, onTiming: () => { answer ??= send() } })
  const abortAtStart = () => new Promise((resolve) => agent.dispatch({ origin: server.origin, path: '/', method: 'GET' }, {
    onRequestStart: (controller) => controller.abort(new Error('given up')),
    onResponseStart () {},
    onResponseData () {},
    onResponseEnd () {},
    onResponseError: () => resolve(undefined)
  }))
  await abortAtStart()
  await abortAtStart()
  assert.equal(await answer, 'ok')
  await agent.destroy()
  await server.close()
})

test('what the handler of a request that a hook makes throws counts as the hook\'s', { timeout: 20_000 }, async () => {
  const server = await startServer(answerOk)
  const before = hookFailures()
  let called = false
  const agent = new Agent({
    onTiming () {
      if (called) return
      called = true
      agent.dispatch({ origin: server.origin, path: /** @type {any} */ (1), method: 'GET' }, {
        onRequestStart () {},
        onResponseStart () {},
        onResponseData () {},
        onResponseEnd () {},
        onResponseError () { throw new Error('of the handler') }
      })
    }
  })
  assert.equal(await (await undici.request(server.origin, { dispatcher: agent })).body.text(), 'ok')
  await new Promise(setImmediate)
  assert.deepEqual([called, hookFailures()], [true, before + 1])
  await agent.destroy()
  await server.close()
})

test('the first failure of a hook is reported by a warning, and no other', () => {
  assert.ok(hookFailures() > 1)
  assert.equal(warnings.length, 1)
  assert.match(String(warnings[0]), /^a timing hook failed; this is reported once: Error: a bug/)
})
