// The guard sets TCP_NODELAY before the first byte of a body, also on fresh connections, and the user's setNoDelay() wins.

import assert from 'node:assert/strict'
import diagnosticsChannel from 'node:diagnostics_channel'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { describe, test } from 'node:test'
import { guardNodeHttp, unguardNodeHttp } from '../src/http/index.js'
import { localhostIdentity, startTap } from './support/tap.js'

const TURNS = 6
const ca = localhostIdentity().cert
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
/** Node names requests when they are made. */
const early = major > 22 || (major === 22 && minor >= 12)
/** Node sets the option itself on https. */
const cured = major > 24 || (major === 24 && minor >= 15)

const library = { 'http:': http, 'https:': https }
const flagOf = (socket) => socket[Reflect.ownKeys(socket).find((key) => String(key) === 'Symbol(kSetNoDelay)') ?? '']

async function guarded (run) {
  guardNodeHttp()
  try {
    return await run()
  } finally {
    unguardNodeHttp()
  }
}

/** A request on a fresh connection, its body written piece by piece once the connection is there. */
async function inTurns (url, options) {
  const request = https.request(url, { method: 'POST', ca, agent: new https.Agent({ ca }), ...options })
  const [socket] = await once(request, 'socket')
  await once(socket, 'secureConnect')
  const atFirst = flagOf(socket)
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn > 0) await new Promise((resolve) => setTimeout(resolve, 2))
    request.write('x'.repeat(50))
  }
  request.end()
  const [response] = await once(request, 'response')
  response.resume()
  await once(response, 'end')
  return atFirst
}

/** All segments of each of 20 fresh connections, least first. */
async function segments () {
  const tap = await startTap({ secure: true })
  try {
    for (let round = 0; round < 20; round++) await inTurns(tap.origin, {})
    assert.ok(tap.requests.every(({ first }) => first))
    return tap.requests.map(({ total }) => total).sort((a, b) => a - b)
  } finally {
    await tap.close()
  }
}

test('a fresh https connection has the option before the first byte of a body that comes in turns', { skip: !early && 'this Node names a request when it is ended' }, async () => {
  const tap = await startTap({ secure: true, count: false })
  try {
    assert.equal(await guarded(() => inTurns(tap.origin, {})), true)
    assert.notEqual(await guarded(() => inTurns(tap.origin, { agent: new https.Agent({ ca, noDelay: false }) })), true)
  } finally {
    await tap.close()
  }
})

test('the pieces of such a body are not held', { skip: !early && 'this Node names a request when it is ended' }, async () => {
  const control = await segments()
  const ours = await guarded(segments)
  // The first segment is the ClientHello. Nagle's algorithm joins what it holds; when the machine pauses it does not, so the minimum of the control counts.
  assert.ok(ours[10] > TURNS, `ours: ${ours}`)
  if (!cured) assert.ok(control[0] < ours[10], `control: ${control}, ours: ${ours}`)
})

for (const secure of [false, true]) {
  describe(`request.setNoDelay() over ${secure ? 'https' : 'http'}`, () => {
    for (const word of [false, true]) {
      test(`${word} wins`, { skip: !early && 'this Node names a request when it is ended' }, async () => {
        const tap = await startTap({ secure, count: false })
        const { protocol } = new URL(tap.origin)
        const agent = new library[protocol].Agent({ keepAlive: true, maxSockets: 1, ca })
        try {
          await guarded(async () => {
            // On a fresh connection, and on a kept one, where the request before has set the option.
            for (const said of [word, true, word]) {
              const request = library[protocol].request(tap.origin, { method: 'POST', agent, ca })
              request.setNoDelay(said)
              request.end('x')
              const [response] = await once(request, 'response')
              assert.equal(flagOf(request.socket), said)
              response.resume()
              await once(response, 'end')
            }
          })
        } finally {
          agent.destroy()
          await tap.close()
        }
      })
    }
  })
}

test('each request is guarded once, and none after unguardNodeHttp()', async () => {
  const tap = await startTap({ count: false })
  const names = ['http.client.request.created', 'http.client.request.start']
  const subscribed = () => names.map((name) => diagnosticsChannel.hasSubscribers(name))
  try {
    await guarded(async () => {
      const request = http.request(tap.origin, { method: 'POST' })
      const calls = []
      const { setNoDelay } = request
      request.setNoDelay = function (on) { calls.push(on); return setNoDelay.call(this, on) }
      request.end('x')
      const [response] = await once(request, 'response')
      response.resume()
      await once(response, 'end')
      // With the early event setNoDelay() was called before this test could wrap it.
      assert.deepEqual(calls, early ? [] : [true])
      assert.deepEqual(subscribed(), [early, !early])
    })
    assert.deepEqual(subscribed(), [false, false])
  } finally {
    await tap.close()
  }
})
