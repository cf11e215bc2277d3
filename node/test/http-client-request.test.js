// Requests that HttpAgent and HttpsAgent refuse before a byte is sent, and node:http sends (spec/06-security.md).

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, test } from 'node:test'
import axios from 'axios'
import got from 'got'
import { HttpAgent, HttpsAgent } from '../src/http/index.js'
import { InvalidRequestError } from '../src/index.js'
import { recorder, until } from './support/record.js'
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

// [headers, body, whether it shows only with the body]; node:http sends each of them
const cases = /** @type {Record<string, [any, string | undefined, boolean?]>} */ ({
  'both framings': [{ 'content-length': '5', 'transfer-encoding': 'chunked' }, 'hello'],
  'both framings, flat': [['host', 'a', 'Transfer-Encoding', 'chunked', 'Content-Length', '5'], 'hello'],
  'a length above the body\'s': [{ 'content-length': '10' }, 'hello', true],
  'a length below the body\'s': [{ 'content-length': 2 }, 'hello', true],
  'a length without a body': [{ 'content-length': '10' }, undefined, true],
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
    for (const [name, [headers, body, late]] of Object.entries(cases)) {
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
          // Node up to 22 closes a connection that was assigned to a destroyed request.
          if (!late) assert.ok(next.socket === first.socket)
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
      for (const headers of [{ 'content-length': '+5' }, { 'content-length': '9' }]) {
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

  for (const [name, length] of /** @type {[string, number][]} */ ([['shorter', 30], ['longer', 7]])) {
    test(`a stream ${name} than announced ends in an error, and its connection carries nothing else`, async () => {
      const received = []
      const server = net.createServer((socket) => {
        const all = []
        received.push(all)
        socket.on('error', () => {})
        socket.on('data', (data) => all.push(data))
      })
      await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
      const { port } = /** @type {net.AddressInfo} */ (server.address())
      const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
      try {
        const request = http.request({ port, host: '127.0.0.1', method: 'POST', agent, headers: { 'content-length': length } })
        request.on('error', () => {})
        const closed = new Promise((resolve) => request.once('close', () => resolve(request.socket)))
        const arrived = () => until(() => received.flat().length > 0)
        const body = Readable.from((async function * () {
          yield 'hello'
          await arrived()
          yield 'world'
        })())
        await assert.rejects(pipeline(body, request), { code: 'ERR_HTTP_CONTENT_LENGTH_MISMATCH' })
        assert.equal((await closed).destroyed, true)
        const text = Buffer.concat(received.flat()).toString('latin1')
        // No byte beyond the Content-Length arrives.
        assert.ok(text.split('\r\n\r\n')[1].length <= length)
        assert.ok(text.includes('hello') && received.length === 1)
      } finally {
        agent.destroy()
        await new Promise((resolve) => server.close(resolve))
      }
    })
  }

  for (const method of ['DELETE', 'GET', 'OPTIONS']) {
    test(`the body of a ${method} has a length or comes in chunks, where Node sends it unframed`, () => withTap(async (url, agent, tap) => {
      for (const parts of [['hello'], ['hel', 'lo'], []]) {
        const request = http.request(url, { method, agent })
        const last = parts.pop()
        for (const part of parts) request.write(part)
        request.end(last)
        assert.equal(await outcome(request), 200)
      }
      assert.deepEqual(tap.requests.map(({ head, body }) => [/content-length: 5|transfer-encoding: chunked/i.test(head), body.toString()]),
        [[true, 'hello'], [true, 'hello'], [false, '']])
      assert.doesNotMatch(tap.requests[2].head, /content-length|transfer-encoding/i)
    }))
  }

  /** Ways by which Node has made the head of a DELETE before it sees a body. */
  const headFirst = /** @type {Record<string, [any, (request: any) => void]>} */ ({
    'an empty write': [{}, (request) => request.write('')],
    'an empty Buffer': [{}, (request) => request.write(Buffer.alloc(0))],
    'flushHeaders()': [{}, (request) => request.flushHeaders()],
    'headers in one flat list': [['host', 'a'], () => {}],
    Expect: [{ expect: '100-continue' }, () => {}]
  })
  for (const [name, [headers, first]] of Object.entries(headFirst)) {
    for (const parts of [['hello'], ['hel', 'lo']]) {
      test(`a body of DELETE behind ${name} is refused, in ${parts.length} parts: Node would send it unframed`, () => withTap(async (url, agent, tap) => {
        const request = http.request(url, { method: 'DELETE', agent, headers })
        const ended = outcome(request)
        first(request)
        await new Promise((resolve) => setTimeout(resolve, 20))
        const rest = [...parts]
        const last = rest.pop()
        for (const part of rest) request.write(part)
        request.end(last)
        // Where the head had been sent, the server may have answered before the body was written.
        const ending = await ended
        if (ending !== 200) assert.match(ending.message, /announces no body/)
        if (name === 'headers in one flat list') assert.ok(ending instanceof InvalidRequestError)
        const next = http.request(url, { method: 'GET', agent })
        next.end()
        assert.equal(await outcome(next), 200)
        assert.ok(tap.requests.every(({ head, body }) => /^(DELETE|GET) /.test(head) && body.length === 0), JSON.stringify(tap.requests))
        assert.match(tap.requests.at(-1).head, /^GET /)
      }))
    }
    test(`a DELETE without a body behind ${name} is sent as Node sends it`, () => withTap(async (url, agent, tap) => {
      const request = http.request(url, { method: 'DELETE', agent, headers })
      first(request)
      request.end()
      assert.equal(await outcome(request), 200)
      assert.doesNotMatch(tap.requests[0].head, /content-length|transfer-encoding/i)
    }))
  }

  test('a complete body does not wait for drain, which Node may never emit', () => withTap(async (url, agent) => {
    const last = {}
    for (const [name, chosen] of Object.entries({ ours: agent, stock: new http.Agent() })) {
      const request = http.request(url, { method: 'POST', agent: chosen, headers: { 'content-length': '200000' } })
      const [socket] = await once(request, 'socket')
      await once(socket, 'connect')
      assert.equal(request.write(Buffer.alloc(100_000)), false)
      await once(request, 'drain')
      last[name] = request.write(Buffer.alloc(100_000))
      request.end()
      assert.equal(await outcome(request), 200)
    }
    assert.deepEqual(last, { ours: true, stock: false })
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
