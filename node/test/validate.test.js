// What is refused before a byte is sent, by undici and by this package.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, InvalidRequestError, Pool } from '../src/index.js'
import { startTap } from './support/tap.js'

let tap
let agent
before(async () => {
  tap = await startTap({ count: false })
  agent = new Agent({ connections: 1 })
})
after(() => Promise.all([agent.destroy(), tap.close()]))

const post = (opts) => undici.request(tap.origin, { dispatcher: agent, method: 'POST', ...opts })

describe('a Content-Length that differs from the body\'s', () => {
  const cases = {
    'POST without a body': { headers: { 'Content-Length': '10' } },
    'POST without a body, flat headers': { headers: ['content-length', '10'] },
    'POST without a body, a Map': { headers: new Map([['content-length', '10']]) },
    'GET with a body': { method: 'GET', body: 'hello', headers: { 'content-length': '4' } },
    'OPTIONS with a body': { method: 'OPTIONS', body: Buffer.alloc(5), headers: { 'content-length': '4' } },
    'QUERY without a body': { method: 'QUERY', headers: { 'content-length': '4' } },
    'empty body': { body: '', headers: { 'content-length': '4' } }
  }
  for (const [name, opts] of Object.entries(cases)) {
    test(name, async () => {
      const before = tap.requests.length
      await assert.rejects(post(opts), (error) => {
        assert.ok(error instanceof InvalidRequestError)
        assert.equal(error.code, 'ONEWRITE_INVALID_REQUEST')
        assert.match(error.message, /Content-Length is/)
        return true
      })
      assert.equal(tap.requests.length, before)
    })
  }
  for (const method of ['POST', 'DELETE', 'QUERY', 'PROPFIND']) {
    test(`${method} with a body is refused by undici itself, with its own code`, () =>
      assert.rejects(post({ method, body: 'hello', headers: { 'content-length': '4' } }), { code: 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' }))
  }
  test('a Pool refuses, too, and its hook gets the record', async () => {
    const timings = []
    const pool = new Pool(tap.origin, { onTiming: (timing) => timings.push(timing) })
    await assert.rejects(pool.request({ path: '/', method: 'POST', headers: { 'content-length': '3' } }), InvalidRequestError)
    await pool.destroy()
    assert.deepEqual(timings.map(({ outcome, errorKind, errorPhase, attempts }) => [outcome, errorKind, errorPhase, attempts.length]), [['error', 'invalid_request', undefined, 1]])
  })
})

describe('a correct Content-Length', () => {
  const cases = {
    'POST without a body': { headers: { 'content-length': '0' } },
    'POST without a body and with a value that undici leaves out': { headers: { 'content-length': undefined } },
    'POST with a body': { body: 'hello', headers: { 'content-length': '5' } },
    'GET with a body': { method: 'GET', body: 'hello', headers: { 'content-length': '5' } },
    'PUT of a stream': { method: 'PUT', body: (async function * () { yield 'hello' })(), headers: { 'content-length': '5' } }
  }
  for (const [name, opts] of Object.entries(cases)) {
    test(name, async () => {
      const { statusCode, body } = await post(opts)
      await body.dump()
      assert.equal(statusCode, 200)
    })
  }
})

describe('what undici refuses stays refused, and the connection stays usable', () => {
  const cases = {
    'a line break in a value': { headers: { a: 'b\r\nc: d' } },
    'NUL in a value': { headers: { a: 'b\0c' } },
    'a space in a name': { headers: { 'a b': 'c' } },
    'a line break in the method': { method: 'GET / HTTP/1.1\r\n\r\nGET' },
    'both framings': { body: 'x', headers: { 'content-length': '1', 'transfer-encoding': 'chunked' } },
    'two lengths': { body: 'x', headers: ['content-length', '1', 'content-length', '2'] },
    'a length that is no number': { body: 'x', headers: { 'content-length': '+1' } },
    'a length that is no number, with an empty body': { body: '', headers: { 'content-length': 'five' } },
    'a length that is no number, without a body': { headers: { 'content-length': '-1' } }
  }
  for (const [name, opts] of Object.entries(cases)) {
    test(name, async () => {
      const before = tap.requests.length
      await assert.rejects(post(opts), { name: /InvalidArgumentError|NotSupportedError/ })
      assert.equal(tap.requests.length, before)
      await (await post({ body: 'x' })).body.dump()
    })
  }
  test('a control in the path', () => assert.rejects(agent.request({ origin: tap.origin, path: '/a b', method: 'GET' }), { name: 'InvalidArgumentError' }))
})

describe('a stream of another length than announced', () => {
  for (const [name, size] of Object.entries({ shorter: 10, longer: 3 })) {
    test(name, async () => {
      const before = tap.requests.length
      await assert.rejects(post({ body: (async function * () { yield 'hello' })(), headers: { 'content-length': String(size) } }), { code: 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' })
      await (await post({ body: 'x' })).body.dump()
      assert.equal(tap.requests.length, before + 1)
    })
  }
})

test('a signal that is aborted already sends nothing', async () => {
  const before = tap.requests.length
  await assert.rejects(post({ body: 'x', signal: AbortSignal.abort() }), { name: 'AbortError' })
  await (await post({ body: 'x' })).body.dump()
  assert.equal(tap.requests.length, before + 1)
})
