// Our constructors and dispatch() accept and refuse what undici's do.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, clientFactory, Pool, ProxyAgent } from '../src/index.js'
import { recorder } from './support/record.js'
import { answerOk, startServer } from './support/server.js'

/** How something ended, in words that can be compared. */
async function outcome (run) {
  try {
    return await run()
  } catch (error) {
    return `${error.name} ${error.code}`
  }
}

describe('an origin in each form that undici takes', () => {
  for (const [name, originOf] of /** @type {[string, (port: number) => any][]} */ ([
    ['a string', (port) => `http://localhost:${port}`],
    ['a URL', (port) => new URL(`http://localhost:${port}`)],
    ['protocol, hostname and port', (port) => ({ protocol: 'http:', hostname: 'localhost', port })],
    ['protocol, hostname and port as text', (port) => ({ protocol: 'http:', hostname: 'localhost', port: String(port) })],
    ['an origin', (port) => ({ origin: `http://localhost:${port}` })],
    ['an origin with a slash', (port) => ({ origin: `http://localhost:${port}/` })]
  ])) {
    for (const hooked of [false, true]) {
      test(`${name}, ${hooked ? 'a hook' : 'no hook'}`, async () => {
        const server = await startServer(answerOk)
        const seen = recorder()
        const pools = [
          new Pool(originOf(server.port), hooked ? seen.hooks : {}),
          /** @type {any} */ (clientFactory(hooked ? seen.hooks : {})(originOf(server.port), {}))
        ]
        try {
          for (const pool of pools) assert.equal(await (await pool.request({ path: '/a', method: 'GET' })).body.text(), 'ok')
          await new Promise(setImmediate)
          if (hooked) assert.deepEqual(seen.records.map(({ url }) => url), Array(2).fill(`http://localhost:${server.port}/a`))
        } finally {
          for (const pool of pools) await pool.destroy()
          await server.close()
        }
      })
    }
  }

  for (const origin of /** @type {any[]} */ ([undefined, null, {}, 5, 'nowhere', { protocol: 'ftp:', hostname: 'a' }, { protocol: 'http:', hostname: 5 }, { protocol: 'http:', hostname: 'a', port: 'b' }, 'http://a/path'])) {
    test(`${JSON.stringify(origin)} is refused as by undici`, async () => {
      const stock = await outcome(() => { new undici.Pool(origin).destroy() })
      for (const hooks of [{}, recorder().hooks]) assert.equal(await outcome(() => { new Pool(origin, hooks).destroy() }), stock)
    })
  }
})

test('the options that BalancedPool hands to its factory are taken', async () => {
  const pool = new undici.BalancedPool(['http://localhost:1'], {
    maxWeightPerServer: 50, errorPenalty: 7, factory: (origin, options) => new Pool(origin, /** @type {any} */ (options))
  })
  await pool.close()
})

describe('a factory that is not a function', () => {
  for (const factory of /** @type {any[]} */ ([undefined, null, '', 0, false, 'a', {}])) {
    test(`${JSON.stringify(factory)} is taken or refused as by undici`, async () => {
      for (const [Stock, Ours] of /** @type {[any, any][]} */ ([[undici.Agent, Agent], [undici.ProxyAgent, ProxyAgent]])) {
        for (const name of Stock === undici.ProxyAgent ? ['factory', 'clientFactory'] : ['factory']) {
          const make = (Class) => outcome(() => { new Class({ uri: 'http://localhost:1', [name]: factory }).destroy() })
          // An Agent has no address.
          const bare = (Class) => outcome(() => { new Class({ [name]: factory }).destroy() })
          const run = Stock === undici.Agent ? bare : make
          assert.equal(await run(Ours), await run(Stock), `${Stock.name} ${name}`)
        }
      }
      const make = (Class) => outcome(() => { new Class('http://localhost:1', { factory }).destroy() })
      assert.equal(await make(Pool), await make(undici.Pool))
    })
  }

  test('with factory: undefined ours is used', async () => {
    const server = await startServer((socket, data) => socket.write(data.toString().startsWith('GET http:') ? 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' : ''))
    const seen = recorder()
    const agent = new ProxyAgent({ uri: server.origin, proxyTunnel: false, factory: undefined, clientFactory: undefined, ...seen.hooks })
    try {
      await (await undici.request('http://example.test/', { dispatcher: agent })).body.text()
      assert.equal((await seen.last()).status, 200)
    } finally {
      await agent.destroy()
      await server.close()
    }
  })
})

describe('a handler that undici refuses', () => {
  const legacy = { onConnect () {}, onError () {}, onHeaders () { return true }, onData () { return true }, onComplete () {} }
  const controller = { onRequestStart () {}, onResponseStart () {}, onResponseData () {}, onResponseEnd () {}, onResponseError () {} }
  // undici 7 validates handlers of the older style, 8 those with a controller.
  const whole = 'Dispatcher1Wrapper' in undici ? controller : legacy
  const styles = Object.keys(whole).map((name) => ({ ...whole, [name]: undefined }))
  for (const handler of /** @type {any[]} */ ([...styles, undefined, null, 'a', { ...whole, onBodySent: 1 }])) {
    const lacks = Object.entries(handler ?? {}).filter(([, value]) => value === undefined).map(([name]) => name)
    for (const method of ['GET', 'CONNECT']) {
      test(`${method}, ${lacks.length > 0 ? `without ${lacks}` : JSON.stringify(handler)}: with hooks as by undici`, async () => {
        const taken = []
        const told = []
        const server = await startServer((socket, data) => { taken.push(data.toString()); answerOk(socket) })
        const seen = recorder()
        const other = new undici.Agent()
        try {
          for (const dispatcher of [new undici.Pool(server.origin), new Pool(server.origin), new Pool(server.origin, seen.hooks)]) {
            const before = taken.length
            const errors = []
            const own = handler && typeof handler === 'object' ? { ...handler } : handler
            for (const name of ['onError', 'onResponseError']) {
              if (typeof own?.[name] === 'function') own[name] = (...args) => errors.push(args.find((arg) => arg instanceof Error).code)
            }
            let thrown
            try {
              dispatcher.dispatch({ path: '/', method }, own)
            } catch (error) {
              thrown = error.code
            }
            // What is sent for a refused handler has arrived when two later exchanges are over.
            for (let round = 0; round < 2; round++) await (await undici.request(server.origin, { dispatcher: other })).body.text()
            told.push({ thrown, refused: errors.includes('UND_ERR_INVALID_ARG'), sent: taken.length - before - 2 })
            dispatcher.destroy().catch(() => {})
            // Where undici accepts it, the outcome is undici's.
            if (told[0].thrown === undefined && !told[0].refused) return
          }
          assert.deepEqual(told[1], told[0])
          assert.deepEqual(told[2], told[0])
          assert.equal(told[0].sent, 0)
          assert.ok(seen.records.every(({ outcome }) => outcome === 'error'))
        } finally {
          await other.destroy()
          await server.close()
        }
      })
    }
  }
})
