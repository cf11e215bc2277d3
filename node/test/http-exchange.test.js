// Hooks on HttpAgent change nothing else: responses and upgrades without a listener are handled as by Node's own agent. And a
// call that the caller cancels is distinguished from one that the peer ends.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import axios from 'axios'
import got from 'got'
import nodeFetch from 'node-fetch'
import { HttpAgent, HttpsAgent } from '../src/http/index.js'
import { countingClockReads } from './support/clock.js'
import { recorder, until } from './support/record.js'
import { runScript } from './support/script.js'
import { answerOk, startServer } from './support/server.js'

const agents = {
  'Node\'s own agent': () => new http.Agent({ keepAlive: true, maxSockets: 1 }),
  'HttpAgent with a hook': () => new HttpAgent({ keepAlive: true, maxSockets: 1, ...recorder().hooks })
}

for (const [name, make] of Object.entries(agents)) {
  describe(`${name}: without a listener`, () => {
    test('responses are dropped, and the connection serves the next request', async () => {
      const server = await startServer(answerOk)
      const agent = make()
      try {
        const sockets = new Set()
        await Promise.all(Array.from({ length: 3 }, async () => {
          const request = http.request(server.origin, { agent })
          request.once('socket', (socket) => sockets.add(socket))
          request.end()
          await once(request, 'close')
        }))
        assert.equal(sockets.size, 1)
      } finally {
        agent.destroy()
        await server.close()
      }
    })

    test('a response with a callback is left to the caller, who reads it later', async () => {
      const server = await startServer(answerOk)
      const agent = make()
      try {
        const response = await new Promise((resolve, reject) => http.get(server.origin, { agent }, resolve).on('error', reject))
        await new Promise((resolve) => setTimeout(resolve, 20))
        const parts = []
        for await (const part of response) parts.push(part)
        assert.equal(Buffer.concat(parts).toString(), 'ok')
      } finally {
        agent.destroy()
        await server.close()
      }
    })

    for (const [what, options, answer] of /** @type {[string, any, string][]} */ ([
      ['an upgrade', { headers: { connection: 'upgrade', upgrade: 'x' } }, 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
      ['a tunnel', { method: 'CONNECT', path: 'a:1' }, 'HTTP/1.1 200 OK\r\n\r\n']
    ])) {
      test(`${what} closes the connection`, async () => {
        const server = await startServer((socket) => socket.write(answer))
        const agent = make()
        try {
          const request = http.request(server.origin, { agent, ...options })
          request.end()
          const [socket] = await once(request, 'socket')
          await once(socket, 'close')
          assert.equal(socket.destroyed, true)
        } finally {
          agent.destroy()
          await server.close()
        }
      })
    }
  })
}

// Node 22 and later lose such an exception when an AsyncResource has run in the same call of the parser.
test('what a listener of the program throws reaches the process', async () => {
  const { out } = await runScript(`
    import http from 'node:http'
    import { HttpAgent } from 'onewrite/http'
    const server = http.createServer((request, response) => { response.writeEarlyHints({ link: '</a>; rel=x' }); response.end('ok') }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const lost = []
    process.on('uncaughtException', ({ message }) => lost.push(message))
    for (const agent of [new http.Agent(), new HttpAgent({ onTiming () {} })]) {
      for (const event of ['response', 'information']) {
        http.get({ port: server.address().port, agent }).on('error', () => {}).on(event, () => { throw new Error(event) })
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    console.log(JSON.stringify(lost))
    process.exit()`)
  assert.deepEqual(out, ['response', 'information', 'response', 'information'])
})

test('a request that is given up leaves its socket, which still connects, as it is in stock', async () => {
  const server = await startServer(() => {})
  const listenersOf = async (agent) => {
    const request = https.get(`https://127.0.0.1:${server.port}`, { agent }).on('error', () => {})
    const [socket] = await once(request, 'socket')
    await until(() => !socket.connecting)
    request.destroy()
    await new Promise((resolve) => request.once('close', resolve))
    await new Promise((resolve) => setTimeout(resolve, 5))
    const counts = Object.fromEntries(socket.eventNames().map((name) => [name, socket.listenerCount(name)]))
    agent.destroy()
    socket.destroy()
    return counts
  }
  const stock = await listenersOf(new https.Agent({ keepAlive: true }))
  assert.deepEqual(await listenersOf(new HttpsAgent({ keepAlive: true, ...recorder().hooks })), stock)
  await server.close()
})

test('an upgrade is recorded with its status, with and without a listener of the program', async () => {
  const server = await startServer((socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'))
  try {
    for (const listens of [true, false]) {
      const seen = recorder()
      const agent = new HttpAgent(seen.hooks)
      const request = http.request(server.origin, { agent, headers: { connection: 'upgrade', upgrade: 'x' } })
      if (listens) request.on('upgrade', (response, socket) => socket.destroy())
      request.end()
      const record = await seen.last()
      assert.deepEqual([record.outcome, record.status], ['ok', 101])
      assert.ok(record.waitNs > 0)
      agent.destroy()
    }
  } finally {
    await server.close()
  }
})

test('a program that removes listeners of its request gets its answer, and a record', { timeout: 20_000 }, async () => {
  const server = await startServer(answerOk)
  for (const name of ['socket', 'information', 'timeout', 'error']) {
    const seen = recorder()
    const agent = new HttpAgent(seen.hooks)
    const request = http.get(server.origin, { agent }).removeAllListeners(name)
    const [response] = await once(request, 'response')
    response.resume()
    await until(() => seen.records.length === 1)
    assert.deepEqual(seen.records.map(({ outcome, status }) => [outcome, status]), [['ok', 200]], name)
    agent.destroy()
  }
  await server.close()
})

test('without a hook no clock is read, and nothing is noted on a request or its socket', () => countingClockReads(async (reads) => {
  const server = await startServer(answerOk)
  const readsWith = async (agent) => {
    const before = reads()
    const notes = new Set()
    for (let round = 0; round < 10; round++) {
      const request = http.request(server.origin, { method: 'POST', agent })
      request.end('x')
      const [response] = await once(request, 'response')
      for (const each of [request, request.socket]) {
        for (const key of Object.getOwnPropertySymbols(each)) if (/^onewrite (exchange|connection)$/.test(key.description)) notes.add(key.description)
      }
      response.resume()
      await once(response, 'end')
    }
    agent.destroy()
    return [reads() - before, [...notes].sort()]
  }
  try {
    assert.deepEqual(await readsWith(new HttpAgent({ keepAlive: true })), [0, []])
    const [timed, notes] = await readsWith(new HttpAgent({ keepAlive: true, onTiming () {} }))
    assert.ok(timed >= 50, `${timed}`)
    assert.ok(notes.includes('onewrite connection'), String(notes))
  } finally {
    await server.close()
  }
}))

describe('a call that the caller ends', () => {
  let server
  /** Called when the server has received the request. */
  let arrived = () => {}
  before(async () => {
    server = await startServer((socket, data) => {
      const path = data.toString('latin1').split(' ')[1]
      if (path === '/begun') socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbegun')
      if (path === '/moved') return socket.write(`HTTP/1.1 302 Found\r\nlocation: /ok\r\ncontent-length: 100000\r\n\r\n${'x'.repeat(1000)}`)
      if (path === '/ok') return answerOk(socket)
      arrived()
    })
  })
  after(() => server.close())

  /** @param {(controller: AbortController) => void} [then] */
  const onArrival = (then) => {
    const controller = new AbortController()
    arrived = () => setImmediate(() => then === undefined ? controller.abort() : then(controller))
    return controller.signal
  }
  const bare = (path, options, act = (request) => {}) => new Promise((resolve, reject) => {
    const request = http.get(`${server.origin}${path}`, options)
    request.on('error', reject)
    request.on('response', (response) => response.on('error', reject).on('data', () => act(request)).on('close', resolve))
    request.on('close', resolve)
    if (path !== '/begun') act(request)
  })
  const noRetry = { retry: { limit: 0 } }
  // [call, outcome, kind, phase]
  const cases = /** @type {Record<string, [(agent: any) => Promise<any>, string, string, string]>} */ ({
    'axios, AbortController': [(agent) => axios.get(`${server.origin}/hang`, { httpAgent: agent, signal: onArrival() }), 'cancelled', 'cancelled', 'wait'],
    'axios, AbortController in the answer': [async (agent) => {
      const controller = new AbortController()
      const { data } = await axios.get(`${server.origin}/begun`, { httpAgent: agent, signal: controller.signal, responseType: 'stream' })
      const failed = once(data, 'error')
      controller.abort()
      await failed
    }, 'cancelled', 'cancelled', 'receive'],
    'got, AbortController': [(agent) => got(`${server.origin}/hang`, { agent: { http: agent }, signal: onArrival(), ...noRetry }), 'cancelled', 'cancelled', 'wait'],
    'node-fetch, AbortController': [(agent) => nodeFetch(`${server.origin}/hang`, { agent, signal: /** @type {any} */ (onArrival()) }), 'cancelled', 'cancelled', 'wait'],
    'http, signal': [(agent) => bare('/hang', { agent, signal: onArrival() }), 'cancelled', 'cancelled', 'wait'],
    'http, destroy()': [(agent) => bare('/hang', { agent }, (request) => onArrival(() => request.destroy())), 'cancelled', 'cancelled', 'wait'],
    'http, destroy(error)': [(agent) => bare('/hang', { agent }, (request) => onArrival(() => request.destroy(new Error('enough')))), 'cancelled', 'cancelled', 'wait'],
    'http, abort()': [(agent) => bare('/hang', { agent }, (request) => onArrival(() => request.abort())), 'cancelled', 'cancelled', 'wait'],
    'http, destroy() in the answer': [(agent) => bare('/begun', { agent }, (request) => request.destroy()), 'cancelled', 'cancelled', 'receive'],
    'http, destroy() of the agent in the answer': [(agent) => bare('/begun', { agent }, () => agent.destroy()), 'cancelled', 'cancelled', 'receive']
  })
  const check = (name, [call, outcome, kind, phase]) => test(name, async () => {
    const seen = recorder()
    const agent = new HttpAgent({ keepAlive: true, ...seen.hooks })
    arrived = () => {}
    try {
      await call(agent).catch(() => {})
      const record = await seen.last()
      assert.deepEqual([record.outcome, record.errorKind, record.errorPhase], [outcome, kind, phase])
      assert.equal(seen.records.length, 1)
    } finally {
      agent.destroy()
    }
  })
  for (const [name, one] of Object.entries(cases)) check(name, one)

  // Run at once, because each only waits.
  describe('by a time limit', { concurrency: true }, () => {
    const limits = /** @type {typeof cases} */ ({
      'axios, timeout in the answer': [(agent) => axios.get(`${server.origin}/begun`, { httpAgent: agent, timeout: 2500 }), 'error', 'timeout', 'receive'],
      'axios, timeout': [(agent) => axios.get(`${server.origin}/hang`, { httpAgent: agent, timeout: 2500 }), 'error', 'timeout', 'wait'],
      'got, timeout': [(agent) => got(`${server.origin}/hang`, { agent: { http: agent }, timeout: { request: 2500 }, ...noRetry }), 'error', 'timeout', 'wait'],
      'http, timeout and destroy()': [(agent) => bare('/hang', { agent, timeout: 2500 }, (request) => request.on('timeout', () => request.destroy())), 'error', 'timeout', 'wait'],
      'http, setTimeout(): destroy(error)': [(agent) => bare('/hang', { agent }, (request) => request.setTimeout(2500, () => request.destroy(new Error('too slow')))), 'error', 'timeout', 'wait']
    })
    for (const [name, one] of Object.entries(limits)) check(name, one)
  })

  for (const way of ['destroy', 'abort']) {
    test(`${way}() while queued`, async () => {
      const seen = recorder()
      const agent = new HttpAgent({ maxSockets: 1, ...seen.hooks })
      try {
        const first = http.get(`${server.origin}/hang`, { agent }).on('error', () => {})
        const queued = http.get(`${server.origin}/queued`, { agent }).on('error', () => {})
        queued[way]()
        // Node notices it when its turn in the agent's queue comes.
        first.destroy()
        await new Promise((resolve) => queued.once('close', resolve))
        const record = seen.records.find(({ url }) => url.endsWith('/queued'))
        assert.deepEqual([record.outcome, record.errorKind, record.errorPhase], ['cancelled', 'cancelled', 'queue'])
        assert.equal(seen.records.length, 2)
      } finally {
        agent.destroy()
      }
    })
  }

  test('a redirect that axios follows is not cancelled', async () => {
    const seen = recorder()
    const agent = new HttpAgent({ keepAlive: true, ...seen.hooks })
    try {
      assert.equal((await axios.get(`${server.origin}/moved`, { httpAgent: agent })).data, 'ok')
      await until(() => seen.records.length === 2)
      assert.deepEqual(seen.records.map(({ outcome, status }) => [outcome, status]), [['ok', 302], ['ok', 200]])
    } finally {
      agent.destroy()
    }
  })
})

describe('bytesReceived is what was read', () => {
  const answers = {
    '/304': ['HTTP/1.1 304 Not Modified\r\ncontent-length: 1234\r\n\r\n', 'ok', 0],
    '/cut': [`HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(10)}`, 'error', 10],
    '/destroyed': [`HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(10)}`, 'ok', 10],
    '/whole': [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n${'x'.repeat(10)}\r\n0\r\n\r\n`, 'ok', 10]
  }
  for (const [path, [answer, outcome, bytes]] of Object.entries(answers)) {
    test(path, async () => {
      const server = await startServer((socket) => path === '/cut' ? socket.end(answer) : socket.write(answer))
      const seen = recorder()
      const agent = new HttpAgent(seen.hooks)
      http.get(`${server.origin}${path}`, { agent }, (response) => {
        response.on('error', () => {}).on('data', () => { if (path === '/destroyed') response.destroy() })
      }).on('error', () => {})
      const record = await seen.last()
      assert.deepEqual([record.outcome, record.bytesReceived], [outcome, bytes])
      agent.destroy()
      await server.close()
    })
  }
})

test('an answer that fails to parse in its body is an error', async () => {
  const server = await startServer((socket) => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\nnonsense\r\n'))
  const seen = recorder()
  const agent = new HttpAgent({ keepAlive: true, ...seen.hooks })
  http.get(server.origin, { agent }, (response) => response.on('error', () => {}).resume()).on('error', () => {})
  const record = await seen.last()
  assert.deepEqual([record.outcome, record.errorKind, record.errorPhase], ['error', 'protocol', 'receive'])
  agent.destroy()
  await server.close()
})

test('a missing Unix socket is connect, and one that is there is left alone', async () => {
  const seen = recorder()
  const agent = new HttpAgent({ keepAlive: true, ...seen.hooks })
  const folder = mkdtempSync(join(tmpdir(), 'onewrite-'))
  const socketPath = join(folder, 's')
  http.get({ socketPath, agent }).on('error', () => {})
  const missing = await seen.last()
  assert.deepEqual([missing.errorKind, missing.errorPhase, missing.dnsNs], ['connect', 'connect', undefined])
  const server = http.createServer((request, response) => request.resume().on('end', () => response.end('ok'))).listen(socketPath)
  await once(server, 'listening')
  let corked = 0
  const request = http.request({ socketPath, agent, method: 'POST' }, (response) => response.resume())
  request.on('socket', (socket) => { corked = socket.writableCorked })
  Readable.from(['a', 'b']).pipe(request)
  const record = await seen.last(2)
  assert.deepEqual([record.outcome, record.status, corked], ['ok', 200, 0])
  agent.destroy()
  server.close()
  rmSync(folder, { recursive: true })
})
