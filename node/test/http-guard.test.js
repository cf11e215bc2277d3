// The guard sets TCP_NODELAY before the first byte of a body, also on fresh connections, and the user's setNoDelay() wins.

import assert from 'node:assert/strict'
import diagnosticsChannel from 'node:diagnostics_channel'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { describe, test } from 'node:test'
import { guardNodeHttp, unguardNodeHttp } from '../src/http/index.js'
import { localhostIdentity, startTap } from './support/tap.js'

const ca = localhostIdentity().cert
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
/** Node names requests when they are made. */
const early = major > 22 || (major === 22 && minor >= 12)

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

/** The option on a fresh connection, as soon as this Node names its request: before the body, or after. */
async function flagWith (url, agent) {
  const request = https.request(url, { method: 'POST', ca, agent })
  const [socket] = await once(request, 'socket')
  await once(socket, 'secureConnect')
  const first = flagOf(socket)
  const [response] = await once(request.end('x'), 'response')
  response.resume()
  await once(response, 'end')
  return early ? first : flagOf(socket)
}

test('a fresh https connection has the option, but for an agent that asked for Nagle', async () => {
  const tap = await startTap({ secure: true, count: false })
  try {
    assert.equal(await guarded(() => flagWith(tap.origin, new https.Agent({ ca }))), true)
    assert.notEqual(await guarded(() => flagWith(tap.origin, new https.Agent({ ca, noDelay: false }))), true)
  } finally {
    await tap.close()
  }
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
      request.prependOnceListener('socket', (socket) => {
        const { setNoDelay } = socket
        socket.setNoDelay = function (on) { calls.push(on); return setNoDelay.call(this, on) }
      })
      request.end('x')
      const [response] = await once(request, 'response')
      response.resume()
      await once(response, 'end')
      assert.deepEqual(calls, [true])
      assert.deepEqual(subscribed(), [early, !early])
    })
    assert.deepEqual(subscribed(), [false, false])
  } finally {
    await tap.close()
  }
})
