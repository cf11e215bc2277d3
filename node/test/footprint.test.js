// FOOT: what onewrite touches is what spec/testdata/footprint/node.yaml lists. Each picture is of a process of its own.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { runScript } from './support/script.js'

const list = readFileSync(new URL('../../spec/testdata/footprint/node.yaml', import.meta.url), 'utf8')
const mechanisms = list.split(/\n {2}- /).slice(1).map((entry) => Object.fromEntries([...entry.matchAll(/^ *(\w+): (.*)$/gm)].map(([, key, value]) => [key, value])))

/** Before everything else: a server, a request through undici and one through node:http, and what these change alone. */
const BEGIN = `
  import http from 'node:http'
  import * as undici from 'undici'
  import { collect, difference, picture, propertiesOf } from './test/support/picture.js'
  // Importing a module of Node reads its lazy properties.
  for (const name of ['async_hooks', 'diagnostics_channel', 'events', 'fs', 'https', 'module', 'net', 'process', 'util']) await import('node:' + name)
  const server = http.createServer((request, response) => { request.resume().on('end', () => response.end('ok')) }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  server.keepAliveTimeout = 0
  server.unref()
  const url = 'http://127.0.0.1:' + server.address().port + '/'
  const form = () => { const form = new undici.FormData(); form.set('a', 'b'); return form }
  const send = async (dispatcher, body = form()) => (await undici.request(url, { dispatcher, method: 'POST', body })).body.text()
  const get = (agent) => new Promise((resolve, reject) => {
    http.request(url, { agent, method: 'POST' }, (response) => response.resume().on('end', resolve)).on('error', reject).end('x')
  })
  const take = () => picture({ undici })
  const calls = async (agent, httpAgent) => {
    for (let round = 0; round < 2; round++) {
      await (await fetch(url)).text()
      await send(agent)
      await get(httpAgent)
    }
  }
  await calls(new undici.Agent(), new http.Agent({ keepAlive: true }))
  const first = take()
  await calls(new undici.Agent(), new http.Agent({ keepAlive: true }))
  await collect()
  // What the runtime changes at each request, and what this test itself keeps.
  const own = new Set(difference(first, take()))
  const changed = (from, to) => difference(from, to).filter((path) => !own.has(path) && !path.startsWith('globalThis.process._startTime'))
`
const flags = { args: ['--expose-gc', '--no-warnings'] }
const run = async (script, options = {}) => (await runScript(BEGIN + script + '\nprocess.exit()', { ...flags, ...options })).out
const GLOBALS = /^globalThis\.Symbol\(undici\.globalDispatcher\.[12]\)/

describe('pictures', () => {
  test('importing changes nothing, install() the global dispatchers, and uninstall() gives all back', async () => {
    const { imported, installed, called, removed, uninstalled } = await run(`
      const before = take()
      const { Agent, guardNodeHttp, HttpAgent, install, uninstall, unguardNodeHttp } = await import('onewrite')
      const imported = take()
      const remove = install({ onTiming () {} })
      guardNodeHttp()
      const installed = take()
      await calls(new Agent({ onTiming () {} }), new HttpAgent({ keepAlive: true, onTiming () {} }))
      await collect()
      const called = take()
      remove()
      const removed = take()
      unguardNodeHttp()
      uninstall()
      console.log(JSON.stringify({
        imported: changed(before, imported), installed: changed(imported, installed), called: changed(installed, called),
        removed: changed(called, removed),
        // Node 22 with undici 7: undici defines the second property so that it cannot be deleted.
        uninstalled: changed(before, take()).filter((path) => !path.endsWith('globalDispatcher.2)') || globalThis[Symbol.for('undici.globalDispatcher.2')] !== undefined)
      }))`)
    assert.deepEqual(imported, [])
    const others = installed.filter((path) => !GLOBALS.test(path))
    assert.ok(installed.length > others.length)
    assert.ok(others.every((path) => /^channel http\.client\.request\.(created|start)$/.test(path)) && others.length === 1, String(others))
    assert.deepEqual(called.filter((path) => !GLOBALS.test(path)), ['channel http.client.response.finish'])
    assert.deepEqual(removed, [])
    assert.deepEqual(uninstalled, ['channel http.client.response.finish'])
  })

  test('with ONEWRITE_DISABLED nothing changes at all', async () => {
    assert.deepEqual(await run(`
      const before = take()
      const { Agent, guardNodeHttp, HttpAgent, install } = await import('onewrite')
      install({ onTiming () {} })
      guardNodeHttp()
      await calls(new Agent({ onTiming () {} }), new HttpAgent({ keepAlive: true, onTiming () {} }))
      await collect()
      console.log(JSON.stringify(changed(before, take())))`, { env: { ONEWRITE_DISABLED: 'true' } }), [])
  })

  test('what is left behind shows in the picture', async () => {
    const left = await run(`
      const net = await import('node:net')
      const channels = await import('node:diagnostics_channel')
      const mutants = {
        'a listener on the process': () => process.on('exit', () => {}),
        'a replaced method of a prototype': () => {
          const { write } = net.Socket.prototype
          net.Socket.prototype.write = function (...args) { return write.apply(this, args) }
        },
        'a global': () => { globalThis.left = 1 },
        'a subscriber of a channel': () => channels.subscribe('undici:request:create', () => {}),
        'a property of a class of undici': () => { undici.Client.prototype[Symbol('left')] = 1 }
      }
      const left = {}
      let before = take()
      for (const [name, mutate] of Object.entries(mutants)) {
        mutate()
        const after = take()
        left[name] = changed(before, after).length
        before = after
      }
      console.log(JSON.stringify(left))`)
    assert.equal(Object.keys(left).length, 5)
    for (const [name, count] of Object.entries(left)) assert.ok(count > 0, name)
  })
})

const [stock, ours] = await run(`
    const { Agent, HttpAgent } = await import('onewrite')
    const hooks = { onTiming () {} }
    const of = async (agent, httpAgent) => {
      const found = {}
      agent.on('connect', (origin, targets) => { found.client = targets.at(-1) })
      const options = { origin: url.slice(0, -1), path: '/', method: 'POST', body: Buffer.from('x'), headers: { a: 'b' } }
      const deep = (value) => { Object.freeze(value); for (const each of Object.values(value)) if (typeof each === 'object' && !Buffer.isBuffer(each)) deep(each) }
      deep(options)
      await new Promise((resolve, reject) => {
        found.handler = { onRequestStart () {}, onResponseStart () {}, onResponseData () {}, onResponseEnd: resolve, onResponseError: (_, error) => reject(error), onConnect () {}, onHeaders: () => true, onData: () => true, onComplete: resolve, onError: reject }
        agent.dispatch(options, found.handler)
      })
      const request = http.request(url, { agent: httpAgent }, (response) => { found.response = response; response.resume() })
      found.request = request
      request.once('socket', (socket) => { found.httpSocket = socket })
      request.end()
      await new Promise((resolve) => request.on('close', resolve))
      await new Promise(setImmediate)
      found.agent = httpAgent
      const all = Object.fromEntries(Object.entries(found).map(([name, object]) => [name, propertiesOf(object)]))
      all.listeners = Object.fromEntries(['request', 'response', 'httpSocket'].map((name) => [name, found[name].eventNames().map((event) => String(event) + found[name].listenerCount(event)).sort()]))
      return all
    }
    console.log(JSON.stringify([await of(new undici.Agent(), new http.Agent({ keepAlive: true })), await of(new Agent(hooks), new HttpAgent({ keepAlive: true, ...hooks }))]))`)
describe('objects of others', () => {
  for (const name of Object.keys(stock).filter((each) => each !== 'listeners')) {
    test(`${name}: nothing enumerable, and what is hidden is on the list`, () => {
      assert.deepEqual(ours[name].enumerable.filter((key) => !stock[name].enumerable.includes(key)), [])
      for (const key of ours[name].hidden) {
        const at = key.replace(/^Symbol\((.*)\)$/, 'Symbol($1)')
        if (!stock[name].hidden.includes(key) && name !== 'agent') assert.ok(list.includes(at) || list.includes(`socket.${at}`), `${name}.${key}`)
      }
    })
  }
  test('listeners are those of stock', () => assert.deepEqual(ours.listeners, stock.listeners))
})

const keptAfterCalls = (env = {}) => run(`
    const { Agent, HttpAgent } = await import('onewrite')
    const records = []
    const hooks = { onTiming (record) { records.push(record) } }
    const agent = new Agent({ connections: 1, ...hooks })
    const composed = new Agent({ connections: 1, ...hooks }).compose(undici.interceptors.retry())
    const httpAgent = new HttpAgent({ keepAlive: true, ...hooks })
    const refs = {}
    for (const [name, dispatcher] of Object.entries({ agent, composed })) await (async () => {
      const [body, headers, signal] = [Buffer.from('body'), { cookie: 'x'.repeat(100) }, new AbortController().signal]
      const options = { dispatcher, method: 'POST', body, headers, signal }
      Object.assign(refs, { [name + ' options']: new WeakRef(options), [name + ' body']: new WeakRef(body), [name + ' headers']: new WeakRef(headers), [name + ' signal']: new WeakRef(signal) })
      await (await undici.request(url, options)).body.text()
    })()
    await (async () => {
      const options = { agent: httpAgent, method: 'POST', headers: { cookie: 'x' } }
      await new Promise((resolve) => {
        const request = http.request(url, options, (response) => { refs['http response'] = new WeakRef(response); response.resume() }).on('close', resolve)
        Object.assign(refs, { 'http options': new WeakRef(options), 'http request': new WeakRef(request) })
        request.end('x')
      })
    })()
    const left = process.env.MUTANT ? refs['agent body'].deref() : null
    await collect()
    console.log(JSON.stringify([Object.keys(refs).length, Object.entries(refs).filter(([, ref]) => ref.deref() !== undefined).map(([name]) => name), records.length === 3]))
    void left`, { env })

test('after a call its options, body, head and handler cannot be reached, neither from the connection nor from the record', async () => {
  assert.deepEqual(await keptAfterCalls(), [11, [], true])
})

test('a reference that is left behind shows in the picture', async () => {
  assert.deepEqual(await keptAfterCalls({ MUTANT: '1' }), [11, ['agent body'], true])
})

test('an idle connection holds at most 1 KiB more than undici\'s', { skip: !process.env.ONEWRITE_NIGHTLY && 'of make nightly' }, async () => {
  const server = spawn(process.execPath, ['--input-type=module', '-e', `
    import http from 'node:http'
    // Importing a module of Node reads its lazy properties.
  for (const name of ['async_hooks', 'diagnostics_channel', 'events', 'fs', 'https', 'module', 'net', 'process', 'util']) await import('node:' + name)
  const server = http.createServer((request, response) => { request.resume().on('end', () => response.end('ok')) }).listen(0, '127.0.0.1', () => console.log(server.address().port))
    server.keepAliveTimeout = 0`], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = await once(server.stdout, 'data')
  try {
    const { out: [stock, plain, timed] } = await runScript(`
      import * as undici from 'undici'
      import { collect } from './test/support/picture.js'
      const { Agent } = await import('onewrite')
      const COUNT = 200
      const heap = async () => { await collect(); return process.memoryUsage().heapUsed }
      const send = async (dispatcher) => (await undici.request('http://127.0.0.1:${Number(port)}/', { dispatcher, method: 'POST', body: 'x'.repeat(2000) })).body.text()
      const held = async (agent) => {
        const before = await heap()
        await Promise.all(Array.from({ length: COUNT }, () => send(agent)))
        const bytes = await heap() - before
        await agent.destroy()
        return bytes / COUNT
      }
      const makers = [() => new undici.Agent({ connections: COUNT }), () => new Agent({ connections: COUNT }), () => new Agent({ connections: COUNT, onTiming () {} })]
      for (const make of makers) await held(make())
      const all = [[], [], []]
      for (let round = 0; round < 3; round++) for (const [index, make] of makers.entries()) all[index].push(await held(make()))
      console.log(JSON.stringify(all.map((each) => each.sort((a, b) => a - b)[1])))
      process.exit()`, flags)
    assert.ok(plain < stock + 1024, `${plain} beside ${stock}`)
    assert.ok(timed < stock + 1024, `with a hook ${timed} beside ${stock}`)
  } finally {
    server.kill()
  }
})

test('the list has its form, at most 12 private names and replaced methods', () => {
  const kinds = ['replaced method', 'subclass', 'attribute', 'private name', 'listener', 'socket option', 'dispatcher']
  for (const { name, kind, when, back, why } of mechanisms) {
    assert.ok(kinds.includes(kind), `${name}: ${kind}`)
    assert.ok(['import', 'install', 'hook', 'call', 'connect'].includes(when), name)
    assert.ok(['uninstall', 'remove', 'end of the call', 'close of the connection', 'never'].includes(back), name)
    assert.ok(why.split(' ').length <= 25, name)
  }
  const reached = mechanisms.filter(({ kind }) => ['replaced method', 'private name'].includes(kind)).flatMap(({ name }) => name.split(' and '))
  assert.ok(reached.length + 2 <= 12, String(reached))
})
