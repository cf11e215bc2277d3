// Sockets of a custom connector, on which undici does not set TCP_NODELAY, and sockets that have no such option.

import assert from 'node:assert/strict'
import net from 'node:net'
import tls from 'node:tls'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import * as undici from 'undici'
import { Agent } from '../src/index.js'
import { localhostIdentity, startTap } from './support/tap.js'

test('a socket of a connector has the option before its TLS handshake, when the connector returns it', async () => {
  const tap = await startTap({ secure: true, count: false })
  const order = []
  const connect = ({ hostname, port }, callback) => {
    const socket = tls.connect({ host: hostname, port, servername: 'localhost', ca: localhostIdentity().cert })
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
    const echoed = await undici.request('http://localhost/', { dispatcher: agents[0], method: 'POST', body: (async function * () { yield 'one'; yield 'write' })() })
    assert.equal(await echoed.body.text(), 'onewrite')
    const other = await undici.request(tap.origin, { dispatcher: agents[1], method: 'POST', body: 'x' })
    assert.equal(other.statusCode, 200)
    await other.body.dump()
  } finally {
    await Promise.all([...agents.map((agent) => agent.destroy()), tap.close()])
    server.close()
    rmSync(folder, { recursive: true })
  }
})
