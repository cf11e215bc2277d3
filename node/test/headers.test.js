// The caller's headers reach the server as with stock undici, in every shape that undici takes; each is read once.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent } from '../src/index.js'
import { startTap } from './support/tap.js'

const own = { authorization: 'Bearer secret', 'x-own': 'here' }

/** @type {Record<string, () => any>} */
const shapes = {
  'an object': () => ({ ...own }),
  'a flat list': () => Object.entries(own).flat(),
  'a Map': () => new Map(Object.entries(own)),
  'entries() of a Map': () => new Map(Object.entries(own)).entries(),
  Headers: () => new Headers(own),
  'entries() of Headers': () => new Headers(own).entries(),
  'a generator': () => (function * () { yield * Object.entries(own) })(),
  'an object with an iterator': () => ({ [Symbol.iterator]: () => Object.entries(own).values() })
}

/** @type {Record<string, () => any>} */
const requests = {
  'POST with a body': () => ({ method: 'POST', body: 'hello' }),
  'POST without a body': () => ({ method: 'POST' }),
  'POST with an empty body': () => ({ method: 'POST', body: '' }),
  'GET with a body': () => ({ method: 'GET', body: 'hello' }),
  'GET without a body': () => ({ method: 'GET' }),
  'PUT of a form': () => {
    const body = new undici.FormData()
    body.append('a', 'b')
    return { method: 'PUT', body }
  }
}

/** Without what is random. @param {string} head */
const comparable = (head) => head.replace(/(formdata-undici-)\d+/, '$1').split('\r\n').sort()

describe('headers', () => {
  let tap
  before(async () => { tap = await startTap({ count: false }) })
  after(() => tap.close())
  for (const [shape, headers] of Object.entries(shapes)) {
    for (const [name, request] of Object.entries(requests)) {
      test(`as ${shape}, ${name}`, async () => {
        const heads = []
        for (const dispatcher of [new undici.Agent(), new Agent(), new Agent({ onTiming () {} })]) {
          const { body } = await undici.request(tap.origin, { dispatcher, headers: headers(), ...request() })
          await body.dump()
          await dispatcher.close()
          heads.push(comparable(tap.requests.at(-1).head))
        }
        assert.ok(heads[0].includes('authorization: Bearer secret'))
        assert.deepEqual(heads[1], heads[0])
        assert.deepEqual(heads[2], heads[0])
      })
    }
  }

  test('an iterator that throws ends the request with its error', async () => {
    for (const dispatcher of [new undici.Agent(), new Agent(), new Agent({ onTiming () {} })]) {
      const headers = (function * () { yield ['a', 'b']; throw new Error('no more') })()
      await assert.rejects(undici.request(tap.origin, { dispatcher, method: 'POST', headers: /** @type {any} */ (headers) }), /no more/)
      await dispatcher.close()
    }
  })
})
