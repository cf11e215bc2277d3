// One write per request, as the receiving kernel counts it: the mode over 20 requests on a kept connection.

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import * as undici from 'undici'
import { Agent } from '../src/index.js'
import { until } from './support/record.js'
import { answerOk, startServer } from './support/server.js'
import { localhostIdentity, startTap } from './support/tap.js'

const ROUNDS = 21 // the first has no baseline

async function * chunks (count, size) {
  for (let index = 0; index < count; index++) yield Buffer.alloc(size, 'x')
}

function form (withFile) {
  const form = new undici.FormData()
  form.append('a', 'b')
  if (withFile) form.append('f', new Blob(['x'.repeat(200)]), 'x.txt')
  return form
}

const FILE = 'form of a field and a file'
/** Segments and records. From Node 24 on the bytes of a Blob come one turn later. */
const most = (name) => name === FILE ? 2 : 1

/** Bodies and headers of which stock undici makes several segments. Bodies that it sends in one: the judge's wire/1. */
const kinds = {
  'stream of 4 chunks with length': () => [Readable.from(chunks(4, 50)), { 'content-length': '200' }],
  'stream of 1 chunk, chunked': () => [Readable.from(chunks(1, 200)), {}],
  'stream of 4 chunks, chunked': () => [Readable.from(chunks(4, 50)), {}],
  'async iterator, chunked': () => [chunks(3, 50), {}],
  'web stream with length': () => [Readable.toWeb(Readable.from(chunks(2, 50))), { 'content-length': '100' }],
  'async iterator with length': () => [chunks(3, 50), { 'content-length': '150' }],
  'web stream, chunked': () => [Readable.toWeb(Readable.from(chunks(2, 50))), {}],
  'form of 1 field': () => [form(false), {}],
  [FILE]: () => [form(true), {}]
}

for (const secure of [false, true]) {
  describe(secure ? 'https' : 'http', () => {
    /** @type {any} */
    let dispatchers
    before(() => {
      const options = { connections: 1, connect: { ca: localhostIdentity().cert } }
      dispatchers = { onewrite: new Agent(options), stock: new undici.Agent(options) }
    })
    after(() => Promise.all(Object.values(dispatchers).map((dispatcher) => dispatcher.destroy())))

    /** Sends such requests to a tap, and passes it on. */
    const play = async (dispatcher, make, options, check) => {
      const tap = await startTap({ secure })
      try {
        for (let round = 0; round < ROUNDS; round++) {
          const [body, headers] = make()
          const response = await undici.request(tap.origin, { dispatcher, method: 'POST', body, headers, ...options })
          assert.equal(await response.body.text(), 'ok')
        }
        check(tap)
      } finally {
        await tap.close()
      }
    }

    for (const [name, make] of Object.entries(kinds)) {
      test(`${name}: at most ${most(name)} segments${secure ? ' and records' : ''}`, () => play(dispatchers.onewrite, make, {}, (tap) => {
        assert.ok(tap.mode('segments') <= most(name))
        if (secure) assert.ok(tap.mode('records') <= most(name))
      }))
      if (!secure) {
        test(`${name}: stock undici takes more, so the tap can see them`, () => play(dispatchers.stock, make, {}, (tap) =>
          assert.ok(tap.mode('segments') > most(name))))
      }
    }

    for (const name of ['stream of 4 chunks, chunked', FILE]) {
      test(`${name}, each on a fresh connection: at most ${most(name)} ${secure ? 'records' : 'segments'}`, () => play(dispatchers.onewrite, kinds[name], { reset: true }, (tap) => {
        assert.ok(tap.requests.every((request) => request.first))
        assert.ok(tap.mode(secure ? 'records' : 'segments') <= most(name))
      }))
    }
  })
}

const BOUNDARY = /----formdata-undici-0\d{11}/g

function oddForm () {
  const form = new undici.FormData()
  form.append('a"b\nc', 'line\nline\r\nend')
  form.append('é', 'ü')
  form.append('f', new Blob(['x'], { type: 'text/plain' }), 'odd "name"\r\n.txt')
  form.append('g', new Blob([]))
  return form
}

function largeForm () {
  const form = new undici.FormData()
  form.append('f', new Blob(['x'.repeat(100_000)]), 'large')
  return form
}

test('a FormData of the runtime is undici\'s to take, to refuse or, in 7.29.1 and 8.10.1, never to answer', async () => {
  const tap = await startTap({ count: false })
  const results = []
  try {
    for (const agent of [new undici.Agent(), new Agent()]) {
      const body = new FormData()
      body.append('a', 'b')
      const sent = undici.request(tap.origin, { dispatcher: agent, method: 'POST', body: /** @type {any} */ (body) })
      results.push(await Promise.race([sent.then(() => 'sent', (error) => `${error.code} ${error.message}`), setTimeout(2000, 'no answer')]))
      await agent.destroy()
    }
    assert.equal(results[1], results[0])
  } finally {
    await tap.close()
  }
})

test('the bytes are those that stock undici sends', async () => {
  const tap = await startTap({ count: false })
  const ours = new Agent({ connections: 1 })
  const stock = new undici.Agent({ connections: 1 })
  try {
    const forms = { 'form with names to be quoted': () => [oddForm(), {}], 'form of a large file': () => [largeForm(), {}], 'form without a type': () => [form(true), { 'content-type': undefined }] }
    for (const [name, make] of Object.entries({ ...kinds, ...forms })) {
      const seen = []
      for (const dispatcher of [ours, stock]) {
        const [body, headers] = make()
        await (await undici.request(`${tap.origin}/path?q=1`, { dispatcher, method: 'POST', body, headers: { 'x-a': 'b', ...headers } })).body.dump()
        const { head, body: bytes } = tap.requests.at(-1)
        // A form's boundary is random.
        seen.push({ head: head.replace(BOUNDARY, 'boundary'), body: bytes.toString('latin1').replace(BOUNDARY, 'boundary') })
      }
      assert.equal(seen[0].head, seen[1].head, name)
      assert.equal(seen[0].body, seen[1].body, name)
    }
  } finally {
    await Promise.all([ours.destroy(), stock.destroy(), tap.close()])
  }
})

test('a form that is appended to before it is written is that of stock', async () => {
  const tap = await startTap({ count: false })
  try {
    for (const dispatcher of [new undici.Agent(), new Agent()]) {
      const body = form(false)
      const sent = undici.request(tap.origin, { dispatcher, method: 'POST', body })
      body.append('later', 'c')
      await (await sent).body.dump()
      await dispatcher.destroy()
    }
    const [stock, ours] = tap.requests.map(({ body }) => body.toString('latin1').replace(BOUNDARY, 'boundary'))
    assert.equal(ours, stock)
  } finally {
    await tap.close()
  }
})

test('a small form whose file pauses is not held', async () => {
  let received = 0
  const server = await startServer((socket, data) => {
    received += data.length
    if (/--\r\n$/.test(data.toString('latin1'))) answerOk(socket)
  })
  const agent = new Agent({ connections: 1 })
  const body = form(false)
  const file = new File(['ab'], 'f')
  let before = 0
  const stream = async function * () {
    yield Buffer.from('a')
    await until(() => received > 0)
    before = received
    yield Buffer.from('b')
  }
  Object.defineProperty(file, 'stream', { value: () => ReadableStream.from(stream()) })
  body.append('f', file)
  try {
    assert.equal(await (await undici.request(server.origin, { dispatcher: agent, method: 'POST', body })).body.text(), 'ok')
    assert.ok(before > 0)
  } finally {
    await agent.destroy()
    await server.close()
  }
})
