// What is left on sockets, requests and responses that the program gets, or that are idle: the same as with stock.

import assert from 'node:assert/strict'
import diagnosticsChannel from 'node:diagnostics_channel'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, HttpAgent, HttpsAgent } from '../src/index.js'
import { answerOk, startServer } from './support/server.js'
import { localhostIdentity } from './support/tap.js'

const hooks = { onTiming () {} }
const METHODS = ['write', 'uncork', '_write', '_writev', 'push', 'emit', 'end', 'cork']

/** @param {any} object of a caller */
function stateOf (object) {
  return {
    own: METHODS.filter((name) => Object.hasOwn(object, name)),
    ours: Object.getOwnPropertySymbols(object).map(String).filter((name) => name.includes('onewrite')),
    names: Object.keys(object).sort(),
    listeners: Object.fromEntries(object.eventNames().map((name) => [String(name), object.listenerCount(name)]))
  }
}

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n'
const onData = (socket, data) => {
  const head = data.toString()
  if (/^CONNECT/.test(head)) return socket.write('HTTP/1.1 200 OK\r\n\r\n')
  if (/\r\nupgrade: /i.test(head)) return socket.write(SWITCH)
  if (head.startsWith('hello')) return socket.write('HELLO')
  answerOk(socket)
}
const withServer = async (secure, run) => {
  const server = await startServer(onData, { secure })
  try {
    return await run(server)
  } finally {
    await server.close()
  }
}
/** Writes work, and the answer comes. @param {any} socket */
async function echo (socket) {
  socket.cork()
  socket.write('hel')
  socket.write('lo')
  socket.uncork()
  const [data] = await once(socket, 'data')
  return String(data)
}

for (const secure of [false, true]) {
  describe(secure ? 'https' : 'http', () => {
    const { cert } = localhostIdentity()
    /** @type {Record<string, (ours: object | null) => undici.Dispatcher>} */
    const makers = {
      stock: () => new undici.Agent({ connections: 1, connect: { ca: cert } }),
      'no hook': () => new Agent({ connections: 1, connect: { ca: cert } }),
      hooks: () => new Agent({ connections: 1, connect: { ca: cert }, ...hooks }),
      'hooks, a pool': () => new Agent({ connections: 2, connect: { ca: cert }, ...hooks })
    }
    /** @param {(agent: any, origin: string) => Promise<any>} use */
    const compare = (use) => withServer(secure, async ({ origin }) => {
      let stock
      for (const [name, make] of Object.entries(makers)) {
        const agent = make(null)
        const state = await use(agent, origin)
        await agent.destroy()
        if (name === 'stock') stock = state
        else assert.deepEqual(state, stock, name)
      }
    })

    test('an upgraded socket of undici', () => compare(async (agent, origin) => {
      const { socket } = await agent.upgrade({ origin, path: '/', protocol: 'echo' })
      const state = stateOf(socket)
      assert.deepEqual([state.own, state.ours, await echo(socket)], [[], [], 'HELLO'])
      socket.destroy()
      return state
    }))

    test('the socket of a tunnel of undici', () => compare(async (agent, origin) => {
      const { socket } = await agent.connect({ origin, path: 'localhost:80' })
      const state = stateOf(socket)
      assert.deepEqual([state.own, state.ours, await echo(socket)], [[], [], 'HELLO'])
      socket.destroy()
      return state
    }))

    test('an idle socket of undici has no listener more', () => compare(async (agent, origin) => {
      const states = []
      let socket
      const onConnected = (message) => { socket = message.socket }
      diagnosticsChannel.subscribe('undici:client:connected', onConnected)
      for (let round = 0; round < 3; round++) {
        const { body } = await undici.request(origin, { dispatcher: agent, method: 'POST', body: (async function * () { yield 'a'; yield 'b' })() })
        await body.text()
        await new Promise((resolve) => setTimeout(resolve, 5))
        states.push(stateOf(socket).listeners)
      }
      diagnosticsChannel.unsubscribe('undici:client:connected', onConnected)
      return states
    }))

    /** @type {Record<string, () => http.Agent>} */
    const agents = {
      stock: () => secure ? new https.Agent({ keepAlive: true, ca: cert }) : new http.Agent({ keepAlive: true }),
      'no hook': () => secure ? new HttpsAgent({ keepAlive: true, ca: cert }) : new HttpAgent({ keepAlive: true }),
      hooks: () => secure ? new HttpsAgent({ keepAlive: true, ca: cert, ...hooks }) : new HttpAgent({ keepAlive: true, ...hooks })
    }
    /** @param {(agent: any, origin: string) => Promise<any>} use */
    const compareHttp = (use) => withServer(secure, async ({ origin }) => {
      let stock
      for (const [name, make] of Object.entries(agents)) {
        const agent = make()
        const state = await use(agent, origin)
        agent.destroy()
        if (name === 'stock') stock = state
        else assert.deepEqual(state, stock, name)
      }
    })
    const request = (origin, options) => (secure ? https : http).request(origin, options)

    for (const [event, options] of Object.entries({ upgrade: { headers: { connection: 'upgrade', upgrade: 'echo' } }, connect: { method: 'CONNECT', path: 'localhost:80' } })) {
      test(`the socket of node:http's '${event}'`, () => compareHttp(async (agent, origin) => {
        const sent = request(origin, { agent, ...options }).end()
        const [, socket] = await once(sent, event)
        const state = stateOf(socket)
        // The hidden mark goes with the socket. It is not read any more.
        assert.deepEqual([state.own, state.ours.filter((name) => name !== 'Symbol(onewrite connection)')], [[], []])
        assert.equal(await echo(socket), 'HELLO')
        socket.destroy()
        return { ...state, ours: [] }
      }))
    }

    test('an idle socket, a request and a response of node:http', () => compareHttp(async (agent, origin) => {
      const states = []
      for (let round = 0; round < 3; round++) {
        const sent = request(origin, { agent, method: 'POST' })
        sent.write('a')
        sent.end('b')
        const [response] = await once(sent, 'response')
        response.resume()
        await once(sent, 'close')
        const [socket] = /** @type {any} */ (Object.values(agent.freeSockets)[0])
        states.push(stateOf(socket).listeners, stateOf(sent), stateOf(response))
      }
      return states
    }))
  })
}

test('a socket on which others have put their methods keeps working after an upgrade', () => withServer(false, async ({ origin }) => {
  const written = []
  const agent = new Agent({ connections: 1, ...hooks })
  const onConnected = ({ socket }) => {
    for (const name of ['write', '_write', '_writev']) {
      const before = socket[name]
      socket[name] = function (...args) { written.push(name); return before.apply(this, args) }
    }
  }
  diagnosticsChannel.subscribe('undici:client:connected', onConnected)
  const { socket } = await agent.upgrade({ origin, path: '/', protocol: 'echo' })
  diagnosticsChannel.unsubscribe('undici:client:connected', onConnected)
  assert.equal(await echo(socket), 'HELLO')
  assert.ok(written.length >= 3)
  socket.destroy()
  await agent.destroy()
}))
