// A hook cannot hurt: whatever it throws or returns, the request goes on. It gets the asynchronous context of its request.

import assert from 'node:assert/strict'
import asyncHooks, { AsyncLocalStorage } from 'node:async_hooks'
import http from 'node:http'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, hookFailures, HttpAgent } from '../src/index.js'
import { until } from './support/record.js'
import { runScript } from './support/script.js'
import { answerOk, CLOSED_PORT, startServer } from './support/server.js'

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
            const { call, close } = make({ onTiming () { calls++; return hook() } })
            for (let round = 0; round < 2; round++) assert.equal(await call(server.origin), 'ok', name)
            await until(() => calls === 2 && hookFailures() - before === calls)
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
        const { call, close } = make({ onTiming: () => result })
        assert.equal(await call(server.origin), 'ok')
        await close()
      }
      await server.close()
      assert.equal(hookFailures(), before)
    })

    test('a request that a hook makes has no record, unless it awaits first', async () => {
      const server = await startServer(answerOk)
      for (const [begin, count] of /** @type {[(call: () => any) => any, number][]} */ ([
        [(call) => call(), 1], [async (call) => { await call() }, 1], [async (call) => { await null; await call() }, 2]
      ])) {
        const [urls, nested] = [[], []]
        const { call, close } = make({
          onTiming ({ url }) {
            urls.push(url)
            // A hook that awaits first and sends each time would never end: README.
            return nested.length === 0 && begin(() => {
              const sent = call(`${server.origin}/metrics`)
              nested.push(sent)
              return sent
            })
          }
        })
        await call(`${server.origin}/app`)
        await until(() => nested.length > 0)
        await Promise.all(nested)
        await until(() => urls.length === count)
        await new Promise((resolve) => setTimeout(resolve, 20))
        assert.deepEqual(urls, [`${server.origin}/app`, `${server.origin}/metrics`].slice(0, count))
        await close()
      }
      await server.close()
    })

    test('a hook has the asynchronous context of its own request, on a new connection and on a reused one', async () => {
      const server = await startServer((socket) => setTimeout(answerOk, 2, socket))
      const storage = new AsyncLocalStorage()
      const stores = []
      const { call, close } = make({ onTiming: ({ url }) => { stores.push([url.slice(-2), storage.getStore()]) } })
      for (const name of ['/a', '/b', '/c']) await storage.run(name, () => call(server.origin + name))
      // The second waits for the connection of the first.
      await Promise.all(['/d', '/e'].map((name) => storage.run(name, () => call(server.origin + name))))
      await until(() => stores.length === 5)
      await close()
      await server.close()
      assert.deepEqual(stores.sort(), ['/a', '/b', '/c', '/d', '/e'].map((name) => [name, name]))
    })
  })
}

describe('fetch', () => {
  test('the hook has the context of its request, also behind an interceptor', async () => {
    const server = await startServer(answerOk)
    const storage = new AsyncLocalStorage()
    const stores = []
    const agent = new Agent({ connections: 1, onTiming: ({ url }) => { stores.push([url.slice(-2), storage.getStore()]) } })
    const composed = agent.compose((dispatch) => (opts, handler) => dispatch(opts, handler))
    for (const name of ['/a', '/b']) await storage.run(name, async () => (await undici.fetch(server.origin + name, { dispatcher: agent })).text())
    await storage.run('/c', async () => (await undici.request(server.origin + '/c', { dispatcher: composed })).body.text())
    await until(() => stores.length === 3)
    await agent.destroy()
    await server.close()
    assert.deepEqual(stores, ['/a', '/b', '/c'].map((name) => [name, name]))
  })

  test('one that a hook makes has no record', async () => {
    const server = await startServer(answerOk)
    const urls = []
    const agent = new Agent({
      async onTiming ({ url }) {
        urls.push(url.slice(-5))
        await (await undici.fetch(`${server.origin}/hook`, { dispatcher: agent, method: 'POST', body: 'x' })).text()
      }
    })
    await (await undici.fetch(`${server.origin}/call`, { dispatcher: agent })).text()
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(urls, ['/call'])
    await agent.destroy()
    await server.close()
  })
})

test('an object that a hook returns, which is no promise, costs nothing', async () => {
  const server = await startServer(answerOk)
  const counts = []
  for (const hook of [() => {}, () => new Map()]) {
    const agent = new HttpAgent({ keepAlive: true, onTiming: hook })
    const get = () => new Promise((resolve) => http.get(server.origin, { agent }, (response) => response.resume().on('end', () => setImmediate(resolve))))
    await get()
    let promises = 0
    const counting = asyncHooks.createHook({ init (id, type) { if (type === 'PROMISE') promises++ } }).enable()
    await get()
    counting.disable()
    counts.push(promises)
    agent.destroy()
  }
  await server.close()
  assert.equal(counts[1], counts[0])
})

test('with a hook no resource is left that context managers on async_hooks keep', async () => {
  const { out: [stock, ours] } = await runScript(`
    import asyncHooks from 'node:async_hooks'
    import http from 'node:http'
    import * as undici from 'undici'
    import { Agent, HttpAgent } from 'onewrite'
    import { collect } from './test/support/picture.js'
    const server = http.createServer((request, response) => response.end('ok'))
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = 'http://127.0.0.1:' + server.address().port
    const contexts = new Set()
    asyncHooks.createHook({ init (id) { contexts.add(id) }, destroy (id) { contexts.delete(id) } }).enable()
    const kept = async (dispatcher, agent) => {
      const get = () => new Promise((resolve) => http.get(url, { agent }, (response) => response.resume().on('end', resolve)))
      const before = contexts.size
      for (let call = 0; call < 200; call++) await Promise.all([get(), undici.fetch(url, { dispatcher }).then((response) => response.text())])
      for (let round = 0; round < 3; round++) await collect()
      return contexts.size - before
    }
    const hooks = { onTiming () {} }
    await kept(new undici.Agent(), new http.Agent({ keepAlive: true }))
    const stock = await kept(new undici.Agent(), new http.Agent({ keepAlive: true }))
    console.log(JSON.stringify([stock, await kept(new Agent(hooks), new HttpAgent({ keepAlive: true, ...hooks }))]))
    process.exit()`, { args: ['--expose-gc'] })
  assert.ok(ours < stock + 100, `${ours} beside ${stock}`)
})

test('a hook may send over the dispatcher of a request that failed', async () => {
  let sent = 0
  /** @type {any[]} */
  const errors = []
  // Stock fails a request by an assertion of its own where it is sent within the call that fails others.
  const onTiming = () => { if (sent++ < 3) call().catch((error) => errors.push(error.code)) }
  const agent = new Agent({ connections: 1, onTiming })
  const call = () => undici.request(`http://127.0.0.1:${CLOSED_PORT}/`, { dispatcher: agent })
  const calls = Array.from({ length: 3 }, call)
  await Promise.allSettled(calls)
  await until(() => errors.length === 3)
  assert.deepEqual(errors, ['ECONNREFUSED', 'ECONNREFUSED', 'ECONNREFUSED'])
  await agent.destroy()
})

test('a caller may abort with any value', async () => {
  const server = await startServer(() => {})
  for (const [name, value] of Object.entries(values)) {
    const records = []
    const agent = new Agent({ connections: 1, onTiming: (timing) => { records.push(timing) } })
    const controller = new AbortController()
    const sent = undici.request(server.origin, { dispatcher: agent, signal: controller.signal })
    setTimeout(() => controller.abort(value()), 10)
    await sent.then(() => assert.fail('answered'), () => {})
    await until(() => records.length === 1)
    assert.equal(records[0].outcome, 'cancelled', name)
    await agent.destroy()
  }
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
