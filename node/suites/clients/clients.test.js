// Libraries and SDKs of others over HttpAgent and install(), beside Node's own agent and stock fetch: the same results, the
// same requests on the wire, and with ours one segment for each request. `make -C node suites` installs the packages
// (suites/clients/package.json) into build/clients and runs a copy of this file there.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { guardNodeHttp, HttpAgent, install, unguardNodeHttp, uninstall } from '../../src/index.js'
import { modeOf, startTap } from '../../test/support/tap.js'

const require = createRequire(import.meta.url)
/** The name is not a literal, because tsc does not see the packages. @param {string} name */
const load = (name) => import(name)

const ROUNDS = 21
const HELLO = 'hello world '.repeat(10)
const gzipped = gzipSync(HELLO)
const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`
const CHUNKED = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n'

/** @type {Record<string, (socket: import('node:net').Socket) => void>} */
const ANSWERS = {
  'content-length': (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${HELLO.length}\r\n\r\n${HELLO}`),
  'chunked in two turns': (socket) => {
    socket.write(`${CHUNKED}\r\n${chunk(HELLO)}`)
    setImmediate(() => socket.write(`${chunk('the end')}0\r\n\r\n`))
  },
  gzip: (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\ncontent-length: ${gzipped.length}\r\n\r\n`)
    socket.write(gzipped)
  },
  trailers: (socket) => socket.write(`${CHUNKED}trailer: x-sum\r\n\r\n${chunk(HELLO)}0\r\nx-sum: 42\r\n\r\n`),
  'early close': (socket) => socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${HELLO.length}\r\n\r\nhello`),
  204: (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'),
  'connection: close': (socket) => socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ${HELLO.length}\r\n\r\n${HELLO}`)
}

const body = 'x'.repeat(200)
const type = { 'content-type': 'text/plain' }
const ofResponse = async (response) => ({ status: response.status, text: await response.text() })

/** A POST of 200 bytes. @type {Record<string, (url: string, agent: http.Agent) => Promise<{status: number, text: string}>>} */
const CLIENTS = {
  'node-fetch 2': async (url, agent) => ofResponse(await (await load('node-fetch-2')).default(url, { agent, method: 'POST', body, headers: type })),
  'node-fetch 3': async (url, agent) => ofResponse(await (await load('node-fetch')).default(url, { agent, method: 'POST', body, headers: type })),
  got: async (url, agent) => {
    const { statusCode, body: text } = await (await load('got')).default.post(url, { agent: { http: agent }, body, headers: type, retry: { limit: 0 } })
    return { status: statusCode, text }
  },
  axios: async (url, agent) => {
    const { status, data } = await (await load('axios')).default.post(url, body, { httpAgent: agent, headers: type, responseType: 'text' })
    return { status, text: data }
  },
  superagent: async (url, agent) => {
    const { status, text = '' } = await require('superagent').post(url).agent(agent).set(type).send(body).buffer(true)
    return { status, text }
  },
  needle: async (url, agent) => {
    const { statusCode, body: read } = await require('needle')('post', url, body, { agent, headers: type, parse_response: false, compressed: true })
    return { status: statusCode, text: String(read) }
  },
  request: (url, agent) => new Promise((resolve, reject) => require('request').post({ url, body, agent, headers: type, gzip: true },
    (error, response, text) => error ? reject(error) : resolve({ status: response.statusCode, text }))),
  'make-fetch-happen': async (url, agent) => ofResponse(await require('make-fetch-happen')(url, { agent, method: 'POST', body, headers: type, retry: false })),
  wreck: async (url, agent) => {
    const Wreck = require('@hapi/wreck')
    const response = await Wreck.request('post', url, { payload: body, headers: type, agent })
    return { status: response.statusCode, text: String(await Wreck.read(response, { gunzip: true })) }
  }
}

/** @type {Record<string, () => http.Agent>} */
const AGENTS = {
  stock: () => new http.Agent({ keepAlive: true, maxSockets: 1 }),
  HttpAgent: () => new HttpAgent({ keepAlive: true, maxSockets: 1 }),
  'HttpAgent with hooks': () => new HttpAgent({ keepAlive: true, maxSockets: 1, onTiming () {} })
}

/** What a program sees of an error: its class and code, not its words, which name ports. */
const nameOf = (error) => [error.name, error.code ?? error.cause?.code ?? error.errno]

/** node-fetch 2 never ends a call whose answer is cut short. The limit is long, because it holds for a busy machine too. */
const LIMIT_MS = 10_000

/** Runs the calls one after the other. */
async function results (call, url, agent, rounds) {
  const found = []
  for (let round = 0; round < rounds; round++) {
    const limit = new AbortController()
    const late = setTimeout(LIMIT_MS, { error: 'it did not end' }, { signal: limit.signal }).catch(() => {})
    found.push(await Promise.race([late, call(url, agent).catch((error) => ({ error: nameOf(error) }))]))
    limit.abort()
    if (found.at(-1).error === 'it did not end') break
  }
  return found
}

async function play (call, answer, make, rounds) {
  const tap = await startTap({ answer: ({ socket }) => answer(socket) })
  const agent = make()
  try {
    const found = await results(call, `http://127.0.0.1:${tap.port}/`, agent, rounds)
    const heads = tap.requests.map(({ head, body: sent }) => [head.replaceAll(String(tap.port), 'PORT'), String(sent)])
    return { found, heads, connections: tap.connections(), segments: modeOf(tap.requests.map(({ segments }) => segments)) }
  } finally {
    agent.destroy()
    await tap.close()
  }
}

for (const [client, call] of Object.entries(CLIENTS)) {
  describe(client, () => {
    for (const [shape, answer] of Object.entries(ANSWERS)) {
      test(shape, async () => {
        const rounds = shape === 'content-length' ? ROUNDS : 3
        const { segments: _, ...stock } = await play(call, answer, /** @type {any} */ (AGENTS.stock), rounds)
        if (shape !== 'early close') assert.equal(stock.found[0].status, shape === '204' ? 204 : 200)
        for (const name of ['HttpAgent', 'HttpAgent with hooks']) {
          const { segments, ...ours } = await play(call, answer, /** @type {any} */ (AGENTS[name]), rounds)
          assert.deepEqual(ours, stock, name)
          if (shape === 'content-length') assert.equal(segments, 1, name)
        }
      })
    }
  })
}

const CREDENTIALS = { accessKeyId: 'a', secretAccessKey: 'b' }
const CHAT = { id: '1', object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }] }
const MESSAGE = { id: '1', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'hi' }] }

/**
 * One call of an SDK: what it sends, over an agent of node:http or over fetch, and what the server answers. Elasticsearch's:
 * @elastic/transport in test/clients.test.js.
 * @type {Record<string, {call: (origin: string, agent: http.Agent) => Promise<any>, answer?: any, headers?: string, status?: number, segments?: number}>}
 */
const SDKS = {
  'openai, fetch': {
    answer: CHAT,
    async call (baseURL) {
      const { OpenAI } = await load('openai')
      return new OpenAI({ baseURL, apiKey: 'k', maxRetries: 0 }).chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    }
  },
  '@anthropic-ai/sdk, fetch': {
    answer: MESSAGE,
    async call (baseURL) {
      const { Anthropic } = await load('@anthropic-ai/sdk')
      return new Anthropic({ baseURL, apiKey: 'k', maxRetries: 0 }).messages.create({ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] })
    }
  },
  '@octokit/core, fetch': {
    answer: { number: 1 },
    async call (baseUrl) {
      const { Octokit } = await load('@octokit/core')
      const { status, data } = await new Octokit({ baseUrl }).request('POST /repos/o/r/issues', { title: 't' })
      return { status, data }
    }
  },
  'AWS S3': {
    answer: '',
    headers: 'etag: "1"\r\n',
    async call (endpoint, agent) {
      const { S3Client, PutObjectCommand } = require('@aws-sdk/client-s3')
      const { NodeHttpHandler } = require('@smithy/node-http-handler')
      const client = new S3Client({ endpoint, region: 'r', credentials: CREDENTIALS, forcePathStyle: true, maxAttempts: 1, requestHandler: new NodeHttpHandler({ httpAgent: agent }) })
      return (await client.send(new PutObjectCommand({ Bucket: 'b', Key: 'k', Body: body }))).ETag
    }
  },
  'Azure storage': {
    answer: '',
    status: 201,
    headers: 'etag: "1"\r\n',
    // It makes its own agent, so the guard is what reaches it.
    async call (origin) {
      const { BlockBlobClient } = require('@azure/storage-blob')
      return (await new BlockBlobClient(`${origin}/account/container/blob`, undefined, { retryOptions: { maxTries: 1 } }).upload(body, body.length)).etag
    }
  },
  // As Azure's. Its multipart body comes in several turns.
  'Google Cloud Storage': {
    answer: { name: 'k', bucket: 'b' },
    segments: 0,
    async call (apiEndpoint) {
      const { Storage } = require('@google-cloud/storage')
      const file = new Storage({ apiEndpoint, projectId: 'p', retryOptions: { autoRetry: false }, useAuthWithCustomEndpoint: false }).bucket('b').file('k')
      await file.save(body, { resumable: false, validation: false })
      return file.metadata.name
    }
  },
  stripe: {
    answer: { id: 'c', object: 'customer' },
    async call (origin, agent) {
      const Stripe = require('stripe')
      const { hostname, port } = new URL(origin)
      const { id } = await new Stripe('sk_test', { host: hostname, port, protocol: 'http', httpAgent: agent, maxNetworkRetries: 0, telemetry: false }).customers.create({ name: 'n' })
      return id
    }
  }
}

/** Without prototypes, which differ. */
const plain = (value) => JSON.parse(JSON.stringify(value ?? null))

for (const [sdk, { call, answer, headers = '', status = 200, segments = 1 }] of Object.entries(SDKS)) {
  test(sdk, async () => {
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
    const send = (socket) => socket.write(`HTTP/1.1 ${status} OK\r\ncontent-type: application/json\r\n${headers}content-length: ${text.length}\r\n\r\n${text}`)
    const stock = plain((await play(call, send, /** @type {any} */ (AGENTS.stock), 1)).found)
    assert.equal(stock[0]?.error, undefined, JSON.stringify(stock))
    guardNodeHttp()
    install()
    try {
      for (const name of ['HttpAgent', 'HttpAgent with hooks']) {
        const ours = await play(call, send, /** @type {any} */ (AGENTS[name]), ROUNDS)
        assert.deepEqual(plain(ours.found), Array(ROUNDS).fill(stock[0]), name)
        assert.equal(ours.heads.length, ROUNDS)
        if (segments > 0) assert.equal(ours.segments, segments, name)
      }
    } finally {
      uninstall()
      unguardNodeHttp()
    }
  })
}

test('a CommonJS program in TypeScript, with the least version that the README names', { timeout: 300_000 }, () => {
  const folder = fileURLToPath(new URL('./typescript/', import.meta.url))
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}program.cts`, `import { Agent, install } from 'onewrite'
import { HttpAgent } from 'onewrite/http'
const agent: Agent = new Agent({ onTiming: (record) => console.log(record.waitNs?.toFixed()) })
install().remove()
console.log(agent.closed, new HttpAgent({ keepAlive: true }).maxSockets)
`)
  execFileSync(process.execPath, [require.resolve('typescript-least/bin/tsc'), '--noEmit', '--strict', '--module', 'node16', `${folder}program.cts`], { cwd: folder, stdio: 'inherit' })
})
