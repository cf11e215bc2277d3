// TCP_NODELAY where undici loses it: with a custom connector. Shown by the segments that the server's kernel counts, with
// stock as the control: of several writes Nagle's algorithm holds all but the first, and joins them.

import assert from 'node:assert/strict'
import net from 'node:net'
import tls from 'node:tls'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import * as undici from 'undici'
import { Agent, clientFactory, ProxyAgent } from '../src/index.js'
import { localhostIdentity, startTap } from './support/tap.js'

const ca = () => localhostIdentity().cert

function connector ({ hostname, port, protocol, servername }, callback) {
  const secure = protocol === 'https:'
  const socket = secure ? tls.connect({ host: hostname, port, servername: servername ?? 'localhost', ca: ca() }) : net.connect({ host: hostname, port })
  socket.once('error', callback)
  socket.once(secure ? 'secureConnect' : 'connect', () => callback(null, socket))
}

async function * twoTurns () {
  yield 'x'.repeat(100)
  await new Promise((resolve) => setTimeout(resolve, 2))
  yield 'y'.repeat(100)
}

const TURNS = 6
async function * sixTurns () {
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn > 0) await new Promise((resolve) => setTimeout(resolve, 2))
    yield 'x'.repeat(50)
  }
}

/** The segments of each of 20 requests, least first. */
async function segments (dispatcher, secure) {
  const tap = await startTap({ secure })
  try {
    for (let round = 0; round < 21; round++) {
      await (await undici.request(tap.origin, { dispatcher, method: 'POST', body: sixTurns(), headers: { 'content-length': String(TURNS * 50) } })).body.dump()
    }
    return tap.requests.slice(1).map((request) => request.segments).sort((a, b) => a - b)
  } finally {
    await tap.close()
  }
}

for (const secure of [false, true]) {
  test(`writes on the socket of a custom connector are not held, ${secure ? 'https' : 'http'}`, async () => {
    const options = { connections: 1, connect: connector }
    const [ours, stock] = [new Agent(options), new undici.Agent(options)]
    try {
      // When the machine pauses, nothing is joined, so the minimum of the control counts.
      const control = await segments(stock, secure)
      const counts = await segments(ours, secure)
      assert.ok(control[0] < TURNS, `control: ${control}`)
      assert.ok(counts[10] >= TURNS, `ours: ${counts}`)
    } finally {
      await Promise.all([ours.destroy(), stock.destroy()])
    }
  })
}

test('a socket of a connector has the option before its TLS handshake, when the connector returns it', async () => {
  const tap = await startTap({ secure: true, count: false })
  const order = []
  const connect = ({ hostname, port }, callback) => {
    const socket = tls.connect({ host: hostname, port, servername: 'localhost', ca: ca() })
    const { setNoDelay } = socket
    socket.setNoDelay = function (on) { order.push(`noDelay ${on}`); return setNoDelay.call(this, on) }
    socket.once('secureConnect', () => { order.push('secure'); callback(null, socket) })
    return socket
  }
  const agent = new Agent({ connect })
  try {
    await (await undici.request(tap.origin, { dispatcher: agent })).body.dump()
    assert.deepEqual(order.slice(0, 2), ['noDelay true', 'secure'])
  } finally {
    await Promise.all([agent.destroy(), tap.close()])
  }
})

test('a Unix socket and a socket without the methods work as before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onewrite-unix-'))
  const server = http.createServer((request, response) => request.pipe(response))
  await new Promise((resolve) => server.listen(join(folder, 's'), () => resolve(undefined)))
  const bare = ({ port, hostname }, callback) => {
    const socket = net.connect({ port: Number(port), host: hostname })
    Object.assign(socket, { setNoDelay: undefined, uncork: socket.uncork })
    socket.once('connect', () => callback(null, socket))
  }
  const tap = await startTap({ count: false })
  const agents = [new Agent({ socketPath: join(folder, 's') }), new Agent({ connect: bare })]
  try {
    const echoed = await undici.request('http://localhost/', { dispatcher: agents[0], method: 'POST', body: twoTurns() })
    assert.equal((await echoed.body.text()).length, 200)
    const other = await undici.request(tap.origin, { dispatcher: agents[1], method: 'POST', body: 'x' })
    assert.equal(other.statusCode, 200)
    await other.body.dump()
  } finally {
    await Promise.all([...agents.map((agent) => agent.destroy()), tap.close()])
    server.close()
    rmSync(folder, { recursive: true })
  }
})

test('with clientFactory() a custom dispatcher has TCP_NODELAY and one write', async () => {
  const tap = await startTap()
  const pool = new undici.BalancedPool([tap.origin], { connections: 1, factory: (origin, options) => new undici.Pool(origin, { ...options, factory: clientFactory() }) })
  try {
    for (let round = 0; round < 21; round++) {
      await (await pool.request({ path: '/', method: 'POST', body: (async function * () { yield 'a'; yield 'b' })() })).body.dump()
    }
    assert.equal(tap.mode('segments'), 1)
  } finally {
    await Promise.all([pool.destroy(), tap.close()])
  }
})

for (const secure of [false, true]) {
  test(`through a proxy, ${secure ? 'CONNECT' : 'forward'}: one segment leaves the client, with the proxy's steps in the record`, async () => {
    const tap = await startTap({ secure, count: false })
    const proxy = await startProxy()
    const timings = []
    const agent = new ProxyAgent({
      uri: proxy.origin, proxyTunnel: false, connections: 1, requestTls: { ca: ca() }, onTiming: (timing) => timings.push(timing)
    })
    try {
      for (let round = 0; round < 3; round++) {
        const response = await undici.request(tap.origin, { dispatcher: agent, method: 'POST', body: (async function * () { yield 'a'; yield 'b' })() })
        assert.equal(await response.body.text(), 'ok')
      }
      assert.equal(tap.requests.length, 3)
      assert.equal(tap.requests[0].body.toString(), 'ab')
      assert.equal(proxy.tunnels, secure ? 1 : 0)
      const first = timings[0].attempts[0]
      assert.equal(first.writes, 1)
      assert.ok(first.connectNs > 0)
      if (!secure) return
      assert.ok(first.tlsNs > 0)
      assert.equal(timings[1].reused, true)
    } finally {
      await Promise.all([agent.destroy(), tap.close(), proxy.close()])
    }
  })
}

async function startProxy () {
  const state = { tunnels: 0 }
  const sockets = new Set()
  const server = http.createServer((request, response) => {
    const upstream = http.request(request.url, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
    })
    request.pipe(upstream)
  })
  server.on('connection', (socket) => sockets.add(socket))
  server.on('connect', (request, socket) => {
    state.tunnels++
    const [host, port] = request.url.split(':')
    const link = net.connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      link.pipe(socket).pipe(link)
    })
    for (const end of [link, socket]) end.on('error', () => {})
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  return {
    get tunnels () { return state.tunnels },
    get connections () { return sockets.size },
    origin: `http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`,
    async close () {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}
