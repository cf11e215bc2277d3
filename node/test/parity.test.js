// What a program may do to requests and agents of undici and node:http, and gets the same from ours.

import assert from 'node:assert/strict'
import http from 'node:http'
import net from 'node:net'
import { Duplex } from 'node:stream'
import { describe, test } from 'node:test'
import * as undici from 'undici'
import { Agent, guardNodeHttp, HttpAgent, ProxyAgent, unguardNodeHttp } from '../src/index.js'
import { recorder, until } from './support/record.js'
import { answerOk, CLOSED_PORT, OK, startServer } from './support/server.js'

const HOOKS = { onTiming () {} }
/** Names of all methods of a handler, in the style with onConnect and in the style with controllers. */
const STYLES = [
  ['onConnect', 'onHeaders', 'onData', 'onComplete', 'onError'],
  ['onRequestStart', 'onResponseStart', 'onResponseData', 'onResponseEnd', 'onResponseError']
]

/** What a handler written by hand gets. */
async function callsOf (agent, opts, methods, more = {}) {
  const calls = []
  let ended = false
  const handler = Object.fromEntries(methods.map((name) => [name, (...args) => {
    ended ||= /Error|Complete|End/.test(name)
    const error = args.find((each) => each instanceof Error)
    calls.push(error === undefined ? name : `${name} ${error.name} ${error.code}`)
    return true
  }]))
  try {
    agent.dispatch(opts, Object.assign(handler, more))
  } catch (error) {
    ended = true
    calls.push(`throws ${error.name} ${error.code}`)
  }
  await until(() => ended)
  // There may be more.
  await new Promise((resolve) => setTimeout(resolve, 50))
  return calls
}

/** Tries the same with undici's class and with ours, without and with hooks. */
async function sameAsStock (Stock, Ours, options, play) {
  const results = []
  for (const agent of [new Stock(options), new Ours(options), new Ours({ ...options, ...HOOKS })]) {
    results.push(await play(agent))
    await agent.destroy()
  }
  const [stock, ours, hooked] = results
  assert.deepEqual(ours, stock)
  assert.deepEqual(hooked, stock)
  return stock
}

describe('a handler written by hand gets after a 407 of a proxy that forwards what undici calls it with', () => {
  for (const methods of STYLES) {
    test(methods[0], async () => {
      const server = await startServer((socket) => socket.write('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 4\r\n\r\nnope'))
      try {
        const opts = () => ({ origin: 'http://shop.test', path: '/', method: 'GET', headers: {} })
        const calls = await sameAsStock(undici.ProxyAgent, ProxyAgent, { uri: server.origin, proxyTunnel: false }, (agent) => callsOf(agent, opts(), methods))
        // undici 8 refuses the older style.
        if (methods === STYLES[1] || !('Dispatcher1Wrapper' in undici)) assert.ok(calls.length > 2)
      } finally {
        await server.close()
      }
    })
  }
})

describe('undici refuses the same, in the same way', () => {
  const odd = { 'no prototype': Object.create(null), number: 5, 'toString that throws': { toString () { throw new Error('of the program') } }, symbol: Symbol('s'), null: null, 'empty string': '', 'no scheme': 'shop.test' }
  for (const [name, value] of Object.entries(odd)) {
    test(`origin, path and method: ${name}`, () => sameAsStock(undici.Agent, Agent, {}, async (agent) => {
      const all = []
      for (const option of ['origin', 'path', 'method']) {
        for (const methods of STYLES) all.push(await callsOf(agent, { origin: `http://127.0.0.1:${CLOSED_PORT}`, path: '/', method: 'GET', [option]: value }, methods))
      }
      return all
    }))
  }
  for (const more of [{ onRequestSent: null }, { onRequestSent: 5 }, { onBodySent: 5 }, { onError: 5, onResponseError: 5 }, { onResponseData: undefined, onData: undefined }]) {
    test(`a handler with ${JSON.stringify(more)}`, async () => {
      let requests = 0
      const server = await startServer((socket) => { requests++; answerOk(socket) })
      try {
        await sameAsStock(undici.Agent, Agent, {}, async (agent) => {
          const before = requests
          const calls = []
          for (const methods of STYLES.slice(more.onError === undefined ? 0 : 1)) calls.push(await callsOf(agent, { origin: server.origin, path: '/', method: 'GET' }, methods, more))
          return [calls, requests - before]
        })
      } finally {
        await server.close()
      }
    })
  }
})

test('a body that a getter of the options makes is made as often as in stock', async () => {
  const server = await startServer(answerOk)
  try {
    const made = await sameAsStock(undici.Agent, Agent, {}, async (agent) => {
      let count = 0
      class Options {
        origin = server.origin
        path = '/'
        method = 'POST'
        get body () { return `body ${++count}` }
      }
      await callsOf(agent, new Options(), STYLES[1])
      return count
    })
    assert.equal(made, 1)
  } finally {
    await server.close()
  }
})

test('a connection to a proxy that is down names the proxy', async () => {
  for (const [origin, proxyTunnel] of [['http://shop.test', false], ['http://shop.test', true], ['https://shop.test', true]]) {
    const seen = recorder()
    const agent = new ProxyAgent({ uri: `http://user:secret@127.0.0.1:${CLOSED_PORT}`, proxyTunnel, ...seen.hooks })
    await assert.rejects(undici.request(origin, { dispatcher: agent }))
    const record = await seen.last()
    assert.equal(record.proxy, `127.0.0.1:${CLOSED_PORT}`, `${origin} ${proxyTunnel}`)
    assert.match(String(record), new RegExp(`via proxy 127\\.0\\.0\\.1:${CLOSED_PORT}`))
    await agent.destroy()
  }
})

describe('an interim answer during an upload is no answer', () => {
  const SIZE = 60
  /** Answers 103 to the first part, and 200 when all is there. */
  const interim = () => {
    let got = ''
    return startServer((socket, data) => {
      if (got === '') socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')
      got += data.toString('latin1')
      if (got.endsWith('end')) socket.write(OK)
    })
  }
  /** @param {() => Promise<unknown>} informed resolves when the client has read the interim answer */
  const body = async function * (informed) {
    yield 'x'.repeat(SIZE - 3)
    await informed()
    yield 'end'
  }
  const check = (record) => {
    assert.equal(record.status, 200)
    assert.ok(record.bytesSent > SIZE + 20)
    assert.ok(record.sendNs > 0 && record.waitNs > 0)
    const names = record.events.map(([name]) => name)
    assert.ok(names.indexOf('requestEnd') < names.indexOf('responseStart'), names.join(' '))
  }

  test('undici', async () => {
    const [server, seen] = [await interim(), recorder()]
    const agent = new Agent(seen.hooks)
    let isInformed = false
    const options = { dispatcher: agent, method: 'POST', body: body(() => until(() => isInformed)), headers: { 'content-length': String(SIZE) }, onInfo () { isInformed = true } }
    await (await undici.request(server.origin, /** @type {any} */ (options))).body.text()
    check(await seen.last())
    await agent.destroy()
    await server.close()
  })

  test('node:http', async () => {
    const [server, seen] = [await interim(), recorder()]
    const agent = new HttpAgent({ keepAlive: true, ...seen.hooks })
    await new Promise((resolve, reject) => {
      const request = http.request(server.origin, { agent, method: 'POST', headers: { 'content-length': SIZE } }, (response) => response.resume().on('end', resolve))
      request.on('information', () => request.end('end')).on('error', reject).write('x'.repeat(SIZE - 3))
    })
    check(await seen.last())
    agent.destroy()
    await server.close()
  })
})

describe('guardNodeHttp(): a connection may be any Duplex', () => {
  const kinds = {
    'without setNoDelay': {},
    'with one that throws': { setNoDelay () { throw new Error('of the program') } },
    'with one that is no function': { setNoDelay: 5 }
  }
  for (const [name, methods] of Object.entries(kinds)) {
    test(name, async () => {
      const server = await startServer(answerOk)
      guardNodeHttp()
      try {
        const below = net.connect(server.port, '127.0.0.1')
        const channel = Object.assign(new Duplex({
          read () { below.resume() },
          write (chunk, encoding, callback) { below.write(chunk, encoding, callback) },
          destroy (error, callback) { below.destroy(); callback(error) }
        }), methods)
        below.on('data', (chunk) => channel.push(chunk)).on('end', () => channel.push(null))
        const code = await new Promise((resolve, reject) => {
          http.get({ createConnection: () => channel }, (response) => resolve(response.resume().statusCode)).on('error', reject)
        })
        assert.equal(code, 200)
        channel.destroy()
      } finally {
        unguardNodeHttp()
        await server.close()
      }
    })
  }
})

describe('a request that gives up its socket while it connects leaves no listener on it', () => {
  const ways = { destroyed: (request) => request.destroy(), 'without its listeners': (request) => request.removeAllListeners('socket') }
  for (const [name, giveUp] of Object.entries(ways)) {
    test(name, async () => {
      const server = await startServer(answerOk)
      const heard = []
      for (const Class of [http.Agent, HttpAgent]) {
        const agent = new Class({ keepAlive: true, ...(Class === HttpAgent ? HOOKS : {}) })
        await new Promise((resolve) => giveUp(http.get(server.origin, { agent }, (response) => response.resume()).on('error', () => {}).on('close', resolve)))
        // Node 20 closes the socket of a request that was destroyed; Node 24 keeps it, which still connects.
        const free = () => Object.values(agent.freeSockets).flat()
        await until(() => agent.totalSocketCount === free().filter(({ connecting }) => !connecting).length)
        heard.push(free().map((socket) => socket.eventNames().map((event) => `${String(event)} ${socket.listenerCount(event)}`)))
        agent.destroy()
      }
      assert.deepEqual(heard[1], heard[0])
      await server.close()
    })
  }
})

describe('a copy of an HttpAgent', () => {
  const ways = {
    clone: (agent) => Object.create(Object.getPrototypeOf(agent), Object.getOwnPropertyDescriptors(agent)),
    'assigned to another': (agent) => Object.assign(Object.create(Object.getPrototypeOf(agent)), agent),
    'Object.create': (agent) => Object.create(agent),
    Proxy: (agent) => new Proxy(agent, {})
  }
  for (const [name, copy] of Object.entries(ways)) {
    test(name, async () => {
      const server = await startServer(answerOk)
      for (const Class of [http.Agent, HttpAgent]) {
        const agent = new Class({ keepAlive: true, ...(Class === HttpAgent ? HOOKS : {}) })
        const code = await new Promise((resolve, reject) => {
          http.get(server.origin, { agent: copy(agent) }, (response) => response.resume().on('end', () => resolve(response.statusCode))).on('error', reject)
        })
        assert.equal(code, 200)
        agent.destroy()
      }
      await server.close()
    })
  }
})
