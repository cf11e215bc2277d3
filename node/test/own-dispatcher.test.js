// Hooks of clientFactory(), in dispatchers of undici.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { clientFactory } from '../src/index.js'
import { recorder, until } from './support/record.js'
import { answerOk, startServer } from './support/server.js'
import { localhostIdentity } from './support/tap.js'

const chunks = async function * () { yield 'one'; yield 'write' }
const connect = { ca: localhostIdentity().cert }
const poolOf = (hooks) => (origin, options) => new undici.Pool(origin, { ...options, factory: clientFactory(hooks) })

/** @type {Record<string, (origin: string, hooks: any, connections: number) => undici.Dispatcher>} */
const makers = {
  'clientFactory() in a Pool': (origin, hooks, connections) => new undici.Pool(origin, { connections, connect, factory: clientFactory(hooks) }),
  'clientFactory() in a BalancedPool': (origin, hooks, connections) => new undici.BalancedPool([origin], { connections, connect, factory: poolOf(hooks) }),
  'clientFactory() in the pools of an Agent': (origin, hooks, connections) => new undici.Agent({ connections, connect, factory: poolOf(hooks) })
}

for (const [name, make] of Object.entries(makers)) {
  describe(name, () => {
    for (const [connections, secure] of /** @type {[number, boolean][]} */ ([[1, false], [2, false], [2, true]])) {
      test(`${connections} connections, ${secure ? 'https' : 'http'}: one record per request, with its connection`, async () => {
        const server = await startServer(answerOk, { secure })
        const seen = recorder()
        const dispatcher = make(server.origin, seen.hooks, connections)
        const send = async (path) => (await undici.request(`${server.origin}${path}`, { dispatcher, method: 'POST', body: chunks() })).body.text()
        try {
          assert.equal(await send('/first'), 'ok')
          const first = await seen.last()
          assert.equal(first.url, `${server.origin}/first`)
          assert.deepEqual([first.outcome, first.status, first.reused, first.connRequests], ['ok', 200, false, 1])
          assert.ok(first.connectNs > 0 && first.sendNs > 0 && first.waitNs > 0)
          assert.equal(first.tlsNs !== undefined, secure)
          seen.clear()
          await Promise.all(Array.from({ length: 6 }, (_, index) => send(`/${index}`)))
          await until(() => seen.records.length === 6)
          assert.deepEqual(seen.records.map(({ url }) => url).sort(), Array.from({ length: 6 }, (_, index) => `${server.origin}/${index}`))
          assert.ok(seen.records.every(({ outcome, connId }) => outcome === 'ok' && connId !== undefined))
          assert.ok(new Set(seen.records.map(({ connId }) => connId)).size <= connections)
        } finally {
          await dispatcher.destroy()
          await server.close()
        }
      })
    }

    test('a call that fails is one record', async () => {
      const seen = recorder()
      const dispatcher = make('http://localhost:1', seen.hooks, 2)
      try {
        await assert.rejects(undici.request('http://localhost:1', { dispatcher }))
        const record = await seen.last()
        assert.deepEqual([record.outcome, record.errorKind, record.errorPhase, seen.records.length], ['error', 'connect', 'connect', 1])
      } finally {
        await dispatcher.destroy()
      }
    })
  })
}
