// A call has one record and each try is an attempt of it, whatever dispatchers are between caller and client.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, clientFactory, Pool, RetryAgent } from '../src/index.js'
import { recorder, until } from './support/record.js'
import { startServer } from './support/server.js'

const BUSY = 'HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n'
const OK = 'HTTP/1.1 200 OK\r\ncache-control: max-age=100\r\ndate: ' + new Date().toUTCString() + '\r\ncontent-length: 2\r\n\r\nok'

/** @type {Record<string, (origin: string, hooks: any) => undici.Dispatcher>} */
const makers = {
  'a client of clientFactory()': (origin, hooks) => clientFactory(hooks)(origin, {}),
  'a Pool': (origin, hooks) => new Pool(origin, hooks),
  'an Agent': (origin, hooks) => new Agent(hooks)
}

describe('RetryAgent', () => {
  for (const [name, make] of Object.entries(makers)) {
    test(`around ${name}: one record with an attempt for each try`, async () => {
      let asked = 0
      const server = await startServer((socket) => socket.write(++asked < 3 ? BUSY : OK))
      const seen = recorder()
      const agent = new RetryAgent(make(server.origin, seen.hooks), { minTimeout: 1, maxTimeout: 5 })
      try {
        const { statusCode, body } = await agent.request({ origin: server.origin, path: '/a', method: 'GET' })
        assert.deepEqual([statusCode, await body.text()], [200, 'ok'])
        await until(() => seen.timings.length > 0)
        assert.equal(seen.timings.length, 1)
        const [timing] = seen.timings
        assert.equal(timing.url, `${server.origin}/a`)
        assert.deepEqual(timing.attempts.map(({ status }) => status), [503, 503, 200])
        assert.equal(seen.names().filter((each) => each === 'attemptStart').length, 3)
        assert.equal(seen.names().filter((each) => each === 'attemptEnd').length, 3)
      } finally {
        await agent.destroy()
        await server.close()
      }
    })
  }
})

test('an answer of undici\'s cache is a call without an attempt', async () => {
  let asked = 0
  const server = await startServer((socket) => { asked++; socket.write(OK) })
  const seen = recorder()
  const agent = new Agent(seen.hooks)
  const dispatcher = agent.compose(undici.interceptors.cache())
  try {
    for (let round = 0; round < 2; round++) {
      const { statusCode, body } = await undici.request(`${server.origin}/a`, { dispatcher })
      assert.deepEqual([statusCode, await body.text()], [200, 'ok'])
      await until(() => seen.timings.length > round)
    }
    assert.equal(asked, 1)
    const [asIs, cached] = seen.timings
    assert.deepEqual(asIs.attempts.map(({ status }) => status), [200])
    assert.deepEqual(cached.attempts, [])
    assert.deepEqual([cached.outcome, cached.status, cached.connId, cached.waitNs], ['ok', 200, undefined, undefined])
    assert.match(String(cached), /^GET http:\S+ 200 in [\d.]+ ms$/)
    assert.deepEqual(seen.names().slice(seen.names().indexOf('callEnd') + 1), ['callStart', 'callEnd'])
  } finally {
    await dispatcher.destroy()
    await server.close()
  }
})

test('a retry of a request that undici\'s cache makes after it has answered is sent, as a call of its own', async () => {
  let asked = 0
  const server = await startServer((socket) => {
    if (++asked === 2) return socket.resetAndDestroy()
    socket.write(`HTTP/1.1 200 OK\r\ncache-control: max-age=1, stale-while-revalidate=60\r\ndate: ${new Date().toUTCString()}\r\ncontent-length: 2\r\n\r\nok`)
  })
  /** @type {number[][]} */
  const statuses = []
  const agent = new Agent({ onTiming: ({ attempts }) => statuses.push(attempts.map(({ status }) => status ?? 0)) })
  const dispatcher = agent.compose(undici.interceptors.retry({ minTimeout: 10 }), undici.interceptors.cache())
  const get = async () => (await undici.request(server.origin, { dispatcher })).body.text()
  try {
    assert.equal(await get(), 'ok')
    await new Promise((resolve) => setTimeout(resolve, 1200))
    assert.equal(await get(), 'ok')
    await until(() => statuses.length === 4)
    assert.deepEqual([asked, statuses], [3, [[200], [], [0], [200]]])
  } finally {
    await agent.destroy()
    await server.close()
  }
})
