// The deferred uncork on real sockets: nothing is lost, nothing is held beyond the turn, backpressure works.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import * as undici from 'undici'
import { holdWrites, unholdWrites } from '../src/wire/coalesce.js'
import { Agent } from '../src/index.js'
import { until } from './support/record.js'
import { runScript } from './support/script.js'
import { answerOk, startServer } from './support/server.js'

const CHUNKED_HEAD = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n'
const LENGTH_HEAD = (size) => `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`

/** A held socket, what its peer received, and how often bytes went down to the kernel. */
async function withHeld (run) {
  const received = []
  const server = await startServer((socket, data) => received.push(data))
  const socket = net.connect(server.port, '127.0.0.1')
  await once(socket, 'connect')
  let writes = 0
  for (const name of ['_write', '_writev']) {
    const original = socket[name]
    socket[name] = function (...args) { writes++; return original.apply(this, args) }
  }
  holdWrites(socket)
  const arrived = async (size) => {
    await until(() => Buffer.concat(received).length >= size)
    return Buffer.concat(received).toString('latin1')
  }
  try {
    await run({ socket, arrived, writes: () => writes })
  } finally {
    socket.destroy()
    await server.close()
  }
}

/** As undici's AsyncWriter writes. */
function writeCorked (socket, ...texts) {
  socket.cork()
  for (const text of texts) socket.write(text, 'latin1')
  socket.uncork()
}

test('chunks of one turn and the terminator are one write', () => withHeld(async ({ socket, arrived, writes }) => {
  writeCorked(socket, CHUNKED_HEAD, '\r\n3\r\n', 'abc')
  writeCorked(socket, '\r\n2\r\n', 'de')
  assert.equal(writes(), 0)
  socket.write('\r\n0\r\n\r\n', 'latin1')
  assert.equal(writes(), 1)
  const all = `${CHUNKED_HEAD}\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`
  assert.equal(await arrived(all.length), all)
}))

test('a finished message leaves in the same call', () => withHeld(async ({ socket, writes }) => {
  socket.cork()
  socket.write(LENGTH_HEAD(3), 'latin1')
  socket.write(Buffer.from('abc'))
  socket.uncork()
  assert.equal(writes(), 1)
  assert.equal(socket.writableCorked, 0)
}))

test('an unfinished message leaves when the turn ends', () => withHeld(async ({ socket, writes, arrived }) => {
  writeCorked(socket, LENGTH_HEAD(10), 'abc')
  assert.equal(writes(), 0)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(writes(), 1)
  assert.equal(socket.writableCorked, 0)
  assert.match(await arrived(LENGTH_HEAD(10).length + 3), /abc$/)
}))

test('no more than one TLS record is held', () => withHeld(async ({ socket, writes }) => {
  const chunk = () => writeCorked(socket, '\r\n1000\r\n', 'x'.repeat(4096))
  writeCorked(socket, CHUNKED_HEAD, '\r\n1000\r\n', 'x'.repeat(4096))
  for (let count = 0; count < 2; count++) chunk()
  assert.equal(writes(), 0)
  chunk()
  assert.equal(writes(), 1)
}))

test('only the line that frames the body is read as a length', () => withHeld(async ({ socket, writes }) => {
  writeCorked(socket, 'GET / HTTP/1.1\r\nhost: a\r\nx-decoded-content-length: 999\r\n\r\n')
  assert.equal(writes(), 1)
  socket.cork()
  socket.write(LENGTH_HEAD(3), 'latin1')
  socket.write(Buffer.from('abc'))
  socket.uncork()
  assert.equal(writes(), 2)
}))

test('a socket gets its methods back, and what is held is sent', () => withHeld(async ({ socket, writes }) => {
  writeCorked(socket, CHUNKED_HEAD, '\r\n3\r\n', 'abc')
  unholdWrites(socket)
  assert.equal(writes(), 1)
  assert.deepEqual(['write', 'uncork'].filter((name) => Object.hasOwn(socket, name)), [])
  socket.write(CHUNKED_HEAD)
  assert.equal(writes(), 2)
}))

test('where setImmediate was faked before the package is loaded, nothing is held', async () => {
  const { out } = await runScript(`
    import * as timers from 'node:timers'
    import { createRequire, syncBuiltinESMExports } from 'node:module'
    const fake = () => ({ hasRef: () => true })
    createRequire(import.meta.url)('node:timers').setImmediate = globalThis.setImmediate = fake
    syncBuiltinESMExports()
    const { HttpAgent, Agent } = await import('onewrite')
    const http = await import('node:http')
    const undici = await import('undici')
    const { Readable } = await import('node:stream')
    const server = http.createServer((request, response) => request.resume().on('end', () => response.end('ok'))).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const url = 'http://127.0.0.1:' + server.address().port
    const [agent, dispatcher] = [new HttpAgent({ keepAlive: true }), new Agent()]
    const parts = () => Readable.from([Buffer.alloc(100000), Buffer.alloc(100000)])
    for (let round = 0; round < 2; round++) {
      await new Promise((resolve) => parts().pipe(http.request(url, { agent, method: 'POST' }, (response) => response.resume().on('end', resolve))))
      await (await undici.request(url, { dispatcher, method: 'POST', body: parts() })).body.text()
    }
    console.log('true')
    process.exit()`)
  assert.equal(out, true)
})

test('end() in the same turn loses nothing and closes', () => withHeld(async ({ socket, arrived }) => {
  writeCorked(socket, CHUNKED_HEAD, '\r\n3\r\n', 'abc')
  socket.end()
  await once(socket, 'finish')
  assert.equal(await arrived(CHUNKED_HEAD.length + 8), `${CHUNKED_HEAD}\r\n3\r\nabc`)
}))

test('end() with nothing held closes', () => withHeld(async ({ socket }) => {
  socket.end()
  await once(socket, 'finish')
}))

test('destroy() in the same turn sends nothing and throws nothing', () => withHeld(async ({ socket, writes }) => {
  writeCorked(socket, CHUNKED_HEAD, '\r\n3\r\n', 'abc')
  socket.destroy()
  await once(socket, 'close')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(writes(), 0)
}))

test('a user\'s own cork is respected', () => withHeld(async ({ socket, writes }) => {
  socket.cork()
  writeCorked(socket, LENGTH_HEAD(3), 'abc')
  assert.equal(writes(), 0)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(writes(), 0)
  socket.uncork()
  assert.equal(writes(), 1)
}))

test('bytes that are not HTTP are not held', () => withHeld(async ({ socket, writes }) => {
  writeCorked(socket, 'hello', ' ', 'world')
  assert.equal(writes(), 1)
  socket.write(Buffer.from('again'))
  assert.equal(writes(), 2)
}))

test('a large upload waits for a peer that does not read, and arrives whole', async () => {
  const size = 32 << 20
  let [made, madeBeforeReading, received] = [0, 0, 0]
  const server = net.createServer((socket) => {
    socket.pause()
    setTimeout(() => { madeBeforeReading = made; socket.resume() }, 200)
    socket.on('error', () => {})
    socket.on('data', (data) => {
      if (received === 0) received -= data.indexOf('\r\n\r\n') + 4
      received += data.length
      if (received === size) answerOk(socket)
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const agent = new Agent({ connections: 1 })
  try {
    const response = await undici.request(`http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`, {
      dispatcher: agent,
      method: 'POST',
      body: (async function * () {
        for (; made < size; made += 64 << 10) yield Buffer.alloc(64 << 10, 'x')
      })(),
      headers: { 'content-length': String(size) }
    })
    assert.equal(await response.body.text(), 'ok')
    assert.equal(received, size)
    assert.ok(madeBeforeReading < size, `${madeBeforeReading} bytes were made before one was read`)
  } finally {
    await agent.destroy()
    server.close()
  }
})

test('a request aborted in the turn it is written leaves the next one whole', async () => {
  const heads = []
  const server = await startServer((socket, data) => {
    heads.push(data.toString('latin1').split('\r\n')[0])
    answerOk(socket)
  })
  const agent = new Agent({ connections: 1 })
  try {
    for (let round = 0; round < 5; round++) {
      const controller = new AbortController()
      async function * body () {
        yield 'abc'
        controller.abort()
        yield 'def'
      }
      await assert.rejects(undici.request(`${server.origin}/aborted`, { dispatcher: agent, method: 'POST', body: body(), signal: controller.signal }))
      const { body: answer } = await undici.request(`${server.origin}/whole`, { dispatcher: agent, method: 'POST', body: (async function * () { yield 'a'; yield 'b' })() })
      assert.equal(await answer.text(), 'ok')
    }
    assert.equal(heads.filter((line) => line === 'POST /whole HTTP/1.1').length, 5)
  } finally {
    await agent.destroy()
    await server.close()
  }
})
