// Requests that HttpAgent and HttpsAgent refuse before a byte is sent, and node:http sends (spec/06-security.md).

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import axios from 'axios'
import got from 'got'
import { HttpAgent, HttpsAgent } from '../src/http/index.js'
import { InvalidRequestError } from '../src/index.js'
import { recorder } from './support/record.js'
import { localhostIdentity, startTap } from './support/tap.js'

const ca = localhostIdentity().cert

/** Its error, or its answer's status. */
async function outcome (request) {
  const [first] = await Promise.race([once(request, 'response'), new Promise((resolve) => request.once('error', (error) => resolve([error])))])
  if (first instanceof Error) return first
  first.resume()
  await once(first, 'end')
  return first.statusCode
}

// [headers, body]; node:http sends each of them
const cases = /** @type {Record<string, [any, string]>} */ ({
  'both framings': [{ 'content-length': '5', 'transfer-encoding': 'chunked' }, 'hello'],
  'both framings, flat': [['host', 'a', 'Transfer-Encoding', 'chunked', 'Content-Length', '5'], 'hello'],
  'two lengths': [{ 'content-length': ['5', '6'] }, 'hello'],
  'two lengths, flat': [['host', 'a', 'Content-Length', '5', 'content-length', '6'], 'hello'],
  'a sign': [{ 'Content-Length': '+5' }, 'hello'],
  'a fraction': [{ 'content-length': 5.5 }, 'hello'],
  'an empty length': [{ 'content-length': '' }, 'hello'],
  'a hexadecimal length': [{ 'content-length': '0x5' }, 'hello'],
  'two lengths in one field': [{ 'content-length': '5, 5' }, 'hello']
})

for (const secure of [false, true]) {
  const library = secure ? https : http
  const make = (options) => secure ? new HttpsAgent({ keepAlive: true, maxSockets: 1, ca, ...options }) : new HttpAgent({ keepAlive: true, maxSockets: 1, ...options })
  describe(`${secure ? 'HttpsAgent' : 'HttpAgent'} refuses`, () => {
    for (const [name, [headers, body]] of Object.entries(cases)) {
      test(`${name}, before a byte is sent, and the next request works`, async () => {
        const tap = await startTap({ secure, count: false })
        const agent = make()
        const send = (headers) => {
          const request = library.request(tap.origin, { method: 'POST', agent, headers })
          request.end(body)
          return request
        }
        try {
          const first = send({})
          assert.equal(await outcome(first), 200)
          const error = await outcome(send(headers))
          assert.ok(error instanceof InvalidRequestError, String(error))
          assert.equal(error.code, 'ONEWRITE_INVALID_REQUEST')
          assert.match(error.message, /Content-Length/)
          const next = send({})
          assert.equal(await outcome(next), 200)
          assert.ok(next.socket === first.socket)
          assert.equal(tap.requests.length, 2)
        } finally {
          agent.destroy()
          await tap.close()
        }
      })
    }
  })
}

describe('HttpAgent', () => {
  /** @param {(url: string, agent: any, tap: any) => Promise<any>} run */
  const withTap = async (run, options = {}) => {
    const tap = await startTap({ count: false })
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1, ...options })
    try {
      return await run(tap.origin, agent, tap)
    } finally {
      agent.destroy()
      await tap.close()
    }
  }

  test('refuses headers that are set after the request was made', () => withTap(async (url, agent, tap) => {
    const request = http.request(url, { method: 'POST', agent })
    request.setHeader('content-length', '3')
    request.setHeader('transfer-encoding', 'chunked')
    request.end('abc')
    assert.ok(await outcome(request) instanceof InvalidRequestError)
    assert.equal(tap.requests.length, 0)
  }))

  test('refuses with flushHeaders() too', () => withTap(async (url, agent, tap) => {
    const request = http.request(url, { method: 'POST', agent })
    request.setHeader('content-length', 'many')
    request.flushHeaders()
    assert.ok(await outcome(request) instanceof InvalidRequestError)
    assert.equal(tap.requests.length, 0)
  }))

  test('refuses DEL in a path, which Node lets through', () => withTap(async (url, agent, tap) => {
    const request = http.get({ port: tap.port, host: 'localhost', path: '/a\x7fb', agent })
    assert.ok(await outcome(request) instanceof InvalidRequestError)
    assert.equal(tap.requests.length, 0)
  }))

  test('a refused request has one record, an invalid request without a phase', () => {
    const seen = recorder()
    return withTap(async (url, agent) => {
      for (const headers of [{ 'content-length': '+5' }, { 'content-length': ['5', '6'] }]) {
        seen.clear()
        const request = http.request(url, { method: 'POST', agent, headers })
        request.end('hello')
        await outcome(request)
        const timing = await seen.last()
        assert.deepEqual([timing.outcome, timing.errorKind, timing.errorPhase, seen.timings.length], ['error', 'invalid_request', undefined, 1])
      }
    }, seen.hooks)
  })

  test('axios and got pass the error on', () => withTap(async (url, agent, tap) => {
    const headers = { 'content-length': '9', 'transfer-encoding': 'chunked' }
    await assert.rejects(axios.post(url, Readable.from(['hello']), { headers, httpAgent: agent, maxRedirects: 0 }), { code: 'ONEWRITE_INVALID_REQUEST' })
    await assert.rejects(got.post(url, { body: Readable.from(['hello']), headers, agent: { http: agent }, retry: { limit: 0 } }), { code: 'ONEWRITE_INVALID_REQUEST' })
    assert.equal(tap.requests.length, 0)
  }))

  test('what a body brings is Node\'s: no method of a request is patched', () => withTap(async (url, agent) => {
    const request = http.request(url, { method: 'POST', agent, headers: { 'content-length': '5' } })
    const stock = http.request(url, { method: 'POST', agent: new http.Agent(), headers: { 'content-length': '5' } })
    const methods = (each) => Reflect.ownKeys(each).filter((key) => typeof each[key] === 'function')
    assert.deepEqual(methods(request), methods(stock))
    for (const each of [request, stock]) {
      each.end('hello')
      assert.equal(await outcome(each), 200)
      assert.deepEqual(methods(each), methods(stock))
    }
  }))

  for (const [name, [body, encoding]] of /** @type {[string, [string, any]][]} */ (Object.entries({
    'base64 with line breaks': [`${'aGVsbG8g'.repeat(10)}\r\n${'d29ybGQh'.repeat(10)}\r\n`, 'base64'],
    hex: ['68656c6c6f', 'hex']
  }))) {
    test(`${name}: the body arrives as over Node's own agent`, () => withTap(async (url, agent, tap) => {
      const bytes = Buffer.from(body, encoding)
      for (const each of [agent, new http.Agent()]) {
        const request = http.request(url, { method: 'POST', agent: each, headers: { 'content-length': String(bytes.length) } })
        request.end(body, encoding)
        assert.equal(await outcome(request), 200)
      }
      assert.deepEqual(tap.requests.map(({ body }) => body), [bytes, bytes])
    }))
  }

  test('write() after end() is as over Node\'s own agent: the request is sent, and the error has its code', () => withTap(async (url, agent, tap) => {
    for (const each of [new http.Agent(), agent]) {
      const codes = []
      const request = http.request(url, { method: 'POST', agent: each })
      request.on('error', (error) => codes.push(error.code))
      const answered = new Promise((resolve) => request.once('response', resolve))
      request.end('hello')
      request.write('more')
      const response = await answered
      response.resume()
      await once(response, 'end')
      assert.deepEqual(codes, ['ERR_STREAM_WRITE_AFTER_END'])
    }
    assert.deepEqual(tap.requests.map(({ body }) => body.toString()), ['hello', 'hello'])
  }))

  test('CONNECT with early data sends the bytes as they are, as over Node\'s own agent', async () => {
    const received = []
    const server = net.createServer((socket) => {
      let text = ''
      socket.on('error', () => {})
      socket.on('data', (data) => {
        text += data.toString('latin1')
        if (!text.includes('early')) return
        received.push(text)
        socket.end('HTTP/1.1 200 OK\r\n\r\n')
      })
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
    const { port } = /** @type {net.AddressInfo} */ (server.address())
    try {
      for (const agent of [new http.Agent(), new HttpAgent(), new HttpAgent({ onTiming () {} })]) {
        const request = http.request({ port, host: '127.0.0.1', method: 'CONNECT', path: 'a:1', agent })
        const tunnel = once(request, 'connect')
        request.write('early')
        request.end()
        const [, socket] = await tunnel
        socket.destroy()
      }
      const [stock, ...ours] = received.map((text) => text.replace(/:\d+/g, ''))
      assert.ok(stock.endsWith('\r\n\r\nearly'), stock)
      assert.deepEqual(ours, [stock, stock])
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })

  test('a path that is no string is as over Node\'s own agent', () => withTap(async (url, agent, tap) => {
    const seen = recorder()
    for (const each of [new http.Agent(), agent, new HttpAgent(seen.hooks)]) {
      const request = http.get({ port: tap.port, host: 'localhost', path: /** @type {any} */ (5), agent: each })
      assert.equal(await outcome(request), 200)
    }
    assert.deepEqual(new Set(tap.requests.map(({ head }) => head.split('\r\n')[0])), new Set(['GET 5 HTTP/1.1']))
  }))

  test('valid requests are sent', () => withTap(async (url, agent, tap) => {
    const send = (headers, ...parts) => {
      const request = http.request(url, { method: 'POST', agent, headers })
      const last = parts.pop()
      for (const part of parts) request.write(part)
      request.end(last)
      return outcome(request)
    }
    assert.equal(await send({ 'content-length': '5' }, 'hello'), 200)
    assert.equal(await send({ 'content-length': 5 }, 'he', Buffer.from('llo')), 200)
    assert.equal(await send({ 'content-length': ['5', '5'] }, 'hello'), 200)
    assert.equal(await send({ 'content-length': '6' }, 'hällo'), 200)
    assert.equal(await send({ 'content-length': '0' }, undefined), 200)
    assert.equal(await send({ 'transfer-encoding': 'chunked' }, 'hel', 'lo'), 200)
    assert.equal(await send(['Host', 'a', 'Content-Length', '5'], 'hello'), 200)
    assert.equal(await send({}, 'hello'), 200)
    assert.deepEqual(tap.requests.map(({ body }) => body.toString()), ['hello', 'hello', 'hello', 'hällo', '', 'hello', 'hello', 'hello'])
  }))

  test('disabled: true leaves all of it to Node', () => withTap(async (url, agent, tap) => {
    const request = http.request(url, { method: 'POST', agent, headers: { 'content-length': ['5', '5'], 'x-a': 'b' } })
    assert.equal(Object.hasOwn(request, 'end'), false)
    request.end('hello')
    assert.equal(await outcome(request), 200)
    assert.equal(tap.requests.length, 1)
  }, { disabled: true }))
})
