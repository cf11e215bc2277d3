// Popular HTTP libraries with our dispatcher or agents, each against a real server.

import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import { after, before, describe, test } from 'node:test'
import { HttpConnection, UndiciConnection } from '@elastic/transport'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import axios from 'axios'
import got from 'got'
import needle from 'needle'
import nodeFetch from 'node-fetch'
import OpenAI from 'openai'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import * as undici from 'undici'
import { Agent, HttpAgent, HttpsAgent, Pool } from '../src/index.js'
import { recorder } from './support/record.js'
import { localhostIdentity, startTap } from './support/tap.js'

const ROUNDS = 21
const json = (value) => JSON.stringify(value)

/** An answer that says what arrived. */
const echo = ({ head, body, socket }) => {
  const text = json({ line: head.split('\r\n')[0], size: body.length })
  socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
}

/** The fetch of Node 22 and 24 refuses a dispatcher of undici 8, also undici's own Agent. */
const refusesDispatcher = 'Dispatcher1Wrapper' in undici && Number.parseInt(process.versions.undici ?? '', 10) < 8

const chunked = () => Readable.from((async function * () { for (let index = 0; index < 4; index++) yield Buffer.alloc(50, 'x') })())

for (const secure of [false, true]) {
  describe(`each library over ${secure ? 'https: one segment, one record' : 'http: one segment'} per request`, () => {
    const ca = localhostIdentity().cert
    let agent
    let httpAgent
    let seen
    before(() => {
      seen = recorder()
      agent = new Agent({ connections: 1, connect: { ca }, ...seen.hooks })
      httpAgent = secure
        ? new HttpsAgent({ keepAlive: true, maxSockets: 1, ca, ...seen.hooks })
        : new HttpAgent({ keepAlive: true, maxSockets: 1, ...seen.hooks })
    })
    /** @type {Map<string, UndiciConnection>} */
    const elastic = new Map()
    after(async () => {
      httpAgent.destroy()
      await Promise.all([...elastic.values()].map((connection) => connection.close()))
      return agent.destroy()
    })
    const forAxios = () => secure ? { httpsAgent: httpAgent } : { httpAgent }
    const forGot = () => /** @type {any} */ ({ [secure ? 'https' : 'http']: httpAgent })

    /** @type {Record<string, (url: string) => Promise<any>>} */
    const clients = {
      'global fetch, JSON': async (url) => (await fetch(url, /** @type {any} */ ({ dispatcher: agent, method: 'POST', body: json({ a: 1 }), headers: { 'content-type': 'application/json' } }))).json(),
      'global fetch, form with a file': async (url) => {
        const body = new FormData()
        body.append('a', 'b')
        body.append('f', new Blob(['x'.repeat(200)]), 'x.txt')
        return (await fetch(url, /** @type {any} */ ({ dispatcher: agent, method: 'POST', body }))).json()
      },
      'undici.fetch, stream': async (url) => /** @type {any} */ (await undici.fetch(url, { dispatcher: agent, method: 'POST', body: chunked(), duplex: 'half' })).json(),
      'undici.request': async (url) => (await undici.request(url, { dispatcher: agent, method: 'POST', body: chunked() })).body.json(),
      'undici.stream': async (url) => {
        const parts = []
        await undici.stream(url, { dispatcher: agent, method: 'POST', body: chunked() }, () => new PassThrough().on('data', (part) => parts.push(part)))
        return JSON.parse(Buffer.concat(parts).toString())
      },
      'undici.pipeline': async (url) => {
        const parts = []
        const duplex = undici.pipeline(url, { dispatcher: agent, method: 'POST' }, ({ body }) => body)
        await pipeline(chunked(), duplex, async (source) => { for await (const part of source) parts.push(part) })
        return JSON.parse(Buffer.concat(parts).toString())
      },
      'axios, stream': async (url) => (await axios.post(url, chunked(), { ...forAxios(), maxRedirects: 0 })).data,
      'got, JSON': (url) => got.post(url, { json: { a: 1 }, agent: forGot(), retry: { limit: 0 } }).json(),
      'node-fetch, stream': async (url) => (await nodeFetch(url, { method: 'POST', body: chunked(), agent: httpAgent })).json(),
      'needle, stream': async (url) => (await needle('post', url, chunked(), { agent: httpAgent, stream_length: 200 })).body,
      '@smithy/node-http-handler': async (url) => {
        const { hostname, port, protocol } = new URL(url)
        const handler = new NodeHttpHandler({ httpAgent: secure ? new HttpAgent() : httpAgent, httpsAgent: secure ? httpAgent : new HttpsAgent() })
        const request = { method: 'POST', protocol, hostname, port: Number(port), path: '/', headers: { 'content-length': '200' }, query: {}, body: 'x'.repeat(200) }
        const { response } = await handler.handle(/** @type {any} */ (request))
        const parts = []
        for await (const part of response.body) parts.push(part)
        return JSON.parse(Buffer.concat(parts).toString())
      },
      '@elastic/transport, HttpConnection': async (url) => {
        const connection = new HttpConnection({ url: new URL(url), agent: () => /** @type {any} */ (httpAgent) })
        const { body } = await connection.request({ method: 'POST', path: '/', body: json({ a: 1 }), headers: { 'content-type': 'application/json' } }, /** @type {any} */ ({ requestId: 1, name: 'x', context: null }))
        return JSON.parse(String(body))
      },
      '@elastic/transport, UndiciConnection': async (url) => {
        if (!elastic.has(url)) elastic.set(url, new UndiciConnection({ url: new URL(url), agent: () => new Pool(url, { connections: 1, connect: { ca }, ...seen.hooks }) }))
        const { body } = await elastic.get(url).request({ method: 'POST', path: '/', body: json({ a: 1 }), headers: { 'content-type': 'application/json' } }, /** @type {any} */ ({ requestId: 1, name: 'x', context: null }))
        return JSON.parse(String(body))
      },
      'openai, JSON': async (url) => {
        const client = new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0, fetchOptions: /** @type {any} */ ({ dispatcher: agent }) })
        return /** @type {any} */ (await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hello' }] }))
      }
    }

    for (const [name, call] of Object.entries(clients)) {
      test(name, { skip: /^(global fetch|openai)/.test(name) && refusesDispatcher }, async () => {
        const tap = await startTap({ secure, answer: echo })
        try {
          seen.clear()
          for (let round = 0; round < ROUNDS; round++) {
            const { line, size } = await call(tap.origin)
            assert.match(line, /^POST \/\S* HTTP\/1\.1$/)
            assert.ok(size > 0)
          }
          assert.equal(tap.mode('segments'), 1)
          if (secure) assert.equal(tap.mode('records'), 1)
          await seen.last(ROUNDS)
          assert.equal(seen.records.length, ROUNDS)
          assert.ok(seen.records.every(({ outcome, waitNs }) => outcome === 'ok' && waitNs > 0))
          assert.equal(seen.records.filter(({ tlsNs }) => tlsNs !== undefined).length, secure ? 1 : 0)
        } finally {
          await tap.close()
        }
      })
    }

    test('openai streams an answer, and the record says when it began and ended', { skip: refusesDispatcher }, () => streamed(secure, agent, seen))
  })
}

/** Each word of the answer is sent only when the client has had the one before it. */
async function streamed (secure, agent, seen) {
  const sent = []
  let had = () => {}
  const onRequest = async (request, response) => {
    for await (const part of request) assert.ok(part.length > 0)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const word of ['one', 'write']) {
      const next = new Promise((resolve) => { had = () => resolve(undefined) })
      sent.push(Number(process.hrtime.bigint()))
      response.write(`data: ${json({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: word }, finish_reason: null }] })}\n\n`)
      await next
    }
    sent.push(Number(process.hrtime.bigint()))
    response.end('data: [DONE]\n\n')
  }
  const server = secure ? https.createServer(localhostIdentity(), onRequest) : http.createServer(onRequest)
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  seen.clear()
  try {
    const client = new OpenAI({ apiKey: 'none', baseURL: `http${secure ? 's' : ''}://localhost:${port}/v1`, maxRetries: 0, fetchOptions: /** @type {any} */ ({ dispatcher: agent }) })
    const stream = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hello' }], stream: true })
    const words = []
    for await (const part of stream) {
      words.push(part.choices[0]?.delta.content)
      had()
    }
    assert.deepEqual(words, ['one', 'write'])
    const record = await seen.last()
    const at = Object.fromEntries(record.events)
    assert.equal(record.outcome, 'ok')
    assert.ok(at.requestEnd <= sent[0], 'the whole request had left before the server answered')
    assert.ok(at.responseStart >= sent[0], 'the response began after its first word was sent')
    assert.ok(at.responseStart < sent[1], 'and before the second')
    assert.ok(at.responseEnd > sent[2], 'it ended after the last')
    assert.equal(record.receiveNs, at.responseEnd - at.responseStart)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
