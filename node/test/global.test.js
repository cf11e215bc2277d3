// install() builds on the global dispatcher that is there, or leaves it. Each case is a process.

import assert from 'node:assert/strict'
import http from 'node:http'
import net from 'node:net'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { answerOk, startServer } from './support/server.js'
import { runScript } from './support/script.js'

const index = fileURLToPath(new URL('../src/index.js', import.meta.url))
const register = fileURLToPath(new URL('../src/register.js', import.meta.url))
const head = `
  import * as undici from 'undici'
  import { install, status, uninstall } from ${JSON.stringify(index)}
  const warnings = []
  process.on('warning', ({ code }) => code?.startsWith('ONEWRITE') && warnings.push(code))
  const FETCH = 'fetch and undici without a dispatcher'
  const turn = () => new Promise((resolve) => setTimeout(resolve, 5))`

/** A proxy for both ways, which counts what it gets, and an origin. */
let proxy
let origin
before(async () => {
  origin = await startServer((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok'))
  const server = http.createServer((request, response) => {
    proxy.count++
    http.get(request.url, { agent: false }, (answer) => answer.pipe(response)).on('error', () => response.destroy())
  })
  server.on('connect', (request, socket) => {
    proxy.count++
    proxy.tunnels++
    const upstream = net.connect(origin.port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'))
    upstream.pipe(socket).pipe(upstream)
    for (const each of [upstream, socket]) each.on('error', () => socket.destroy())
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  proxy = { count: 0, tunnels: 0, url: `http://127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`, server }
})
after(async () => {
  await origin.close()
  proxy.server.closeAllConnections()
  proxy.server.close()
})

/** Made one after the other in one process. */
const CHOSEN = {
  ProxyAgent: 'new undici.ProxyAgent("http://127.0.0.1:1")',
  MockAgent: 'new undici.MockAgent()',
  'Agent with an option': 'new undici.Agent({ keepAliveTimeout: 1000 })',
  'Agent with a limit': 'new undici.Agent({ maxOrigins: 5 })',
  'Agent with a certificate': 'new undici.Agent({ connect: { ca: "x" } })',
  'Agent with a connector': 'new undici.Agent({ connect () {} })',
  'Agent with a factory': 'new undici.Agent({ factory: (origin, options) => new undici.Pool(origin, options) })',
  'Agent, composed': 'new undici.Agent().compose(undici.interceptors.redirect())',
  'Agent whose dispatch was replaced': 'Object.assign(new undici.Agent(), { dispatch () { return true } })',
  'class of the program': 'new (class Agent extends undici.Agent {})()',
  'class of the program with dispatch': 'new (class Agent extends undici.Agent { dispatch (...args) { return super.dispatch(...args) } })()',
  'EnvHttpProxyAgent of the program': 'new (class EnvHttpProxyAgent extends undici.EnvHttpProxyAgent {})()',
  'EnvHttpProxyAgent with a factory': 'new undici.EnvHttpProxyAgent({ factory: (origin, options) => new undici.Pool(origin, options) })',
  RetryAgent: 'new undici.RetryAgent(new undici.Agent())',
  Pool: 'new undici.Pool("http://localhost")',
  'plain object': '{ dispatch () { return true } }',
  'object whose class cannot be read': '{ dispatch () { return true }, get constructor () { throw new Error("private") } }'
}

describe('what the program has chosen stays, with one warning', () => {
  let results
  before(async () => {
    const { out } = await runScript(`${head}
      const results = {}
      for (const [name, make] of Object.entries({ ${Object.entries(CHOSEN).map(([name, code]) => `${JSON.stringify(name)}: () => (${code})`)} })) {
        const chosen = make()
        undici.setGlobalDispatcher(chosen)
        install({ onTiming () {} })
        install()
        const same = undici.getGlobalDispatcher() === chosen
        const state = status().patches[FETCH]
        const took = uninstall()
        await turn()
        results[name] = { same, state, took, after: undici.getGlobalDispatcher() === chosen, warnings: warnings.splice(0) }
      }
      console.log(JSON.stringify(results))
      process.exit()`)
    results = out
  })
  test('one warning in a process', () => {
    assert.deepEqual(Object.values(results).flatMap(({ warnings }) => warnings), ['ONEWRITE_DISPATCHER_LEFT'])
  })
  for (const name of Object.keys(CHOSEN)) {
    test(name, () => {
      const { same, state, took, after } = results[name]
      assert.deepEqual([same, took, after], [true, false, true])
      assert.match(state, /^left as it is: the program chose it \(class \w+\); use the class (Agent|ProxyAgent|EnvHttpProxyAgent) of onewrite/)
    })
  }
})

test('undici\'s own default is replaced, also a new one without options', async () => {
  for (const make of ['', 'undici.setGlobalDispatcher(new undici.Agent())', 'undici.setGlobalDispatcher(new undici.Agent({}))', 'await fetch("data:,x")']) {
    const { out } = await runScript(`${head}
      ${make}
      const chosen = undici.getGlobalDispatcher()
      install()
      const state = [undici.getGlobalDispatcher() !== chosen, status().patches[FETCH], (await fetch(${JSON.stringify(origin.origin)})).status]
      uninstall()
      await turn()
      console.log(JSON.stringify([...state, undici.getGlobalDispatcher() === chosen, warnings]))
      process.exit()`)
    assert.deepEqual(out, [true, 'on', 200, true, []])
  }
})

describe('a proxy is never bypassed', () => {
  const fetchOnce = `(await fetch(${'URL'})).status`
  const script = (before, after = '') => `${head}
    const URL = process.env.ORIGIN
    ${before}
    const records = []
    install({ onTiming: (record) => { records.push(record) } })
    const answer = ${fetchOnce}
    ${after}
    await turn()
    const { constructor } = undici.getGlobalDispatcher()
    console.log(JSON.stringify({ answer, state: status().patches[FETCH], records: records.length, warnings, ours: constructor !== undici.EnvHttpProxyAgent && undici.getGlobalDispatcher() instanceof undici.EnvHttpProxyAgent }))
    process.exit()`
  const run = async (text, options = {}) => {
    const before = proxy.count
    const { out } = await runScript(text, { ...options, env: { ORIGIN: origin.origin, HTTP_PROXY: '', HTTPS_PROXY: '', NO_PROXY: '', ...options.env } })
    return { ...out, proxied: proxy.count - before }
  }
  const on = { answer: 200, state: 'on', records: 1, warnings: [], ours: true }

  test('ProxyAgent', async () => {
    const { proxied, state } = await run(script(`undici.setGlobalDispatcher(new undici.ProxyAgent(${JSON.stringify(proxy.url)}))`))
    assert.deepEqual([proxied, state.startsWith('left')], [1, true])
  })

  test('an EnvHttpProxyAgent of the program stays, with one warning that names the class to use', async () => {
    for (const [options, env, proxied] of /** @type {[any, any, number][]} */ ([
      [{}, { HTTP_PROXY: proxy.url }, 1],
      [{}, { HTTP_PROXY: proxy.url, NO_PROXY: 'localhost' }, 0],
      [{ httpProxy: proxy.url, noProxy: '' }, { NO_PROXY: 'localhost' }, 1]
    ])) {
      const { state, ...rest } = await run(script(`undici.setGlobalDispatcher(new undici.EnvHttpProxyAgent(${JSON.stringify(options)}))`), { env })
      assert.deepEqual(rest, { answer: 200, records: 0, warnings: ['ONEWRITE_DISPATCHER_LEFT'], ours: false, proxied })
      assert.match(state, /use the class EnvHttpProxyAgent of onewrite/)
    }
  })

  const supported = process.allowedNodeEnvironmentFlags.has('--use-env-proxy')
  test('NODE_USE_ENV_PROXY, with install() and with register, before undici is loaded and after', { skip: !supported && 'this Node has it not' }, async () => {
    const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url }
    assert.deepEqual(await run(script(''), { env }), { ...on, proxied: 1 })
    const undici = "  import * as undici from 'undici'\n"
    assert.deepEqual(await run(script('').replace(undici, '').replace('const warnings', `${undici}const warnings`), { env }), { ...on, proxied: 1 })
    assert.deepEqual(await run(script(''), { env: { ...env, NO_PROXY: 'localhost' } }), { ...on, proxied: 0 })
    const changed = "process.env.NO_PROXY = 'localhost:1'"
    assert.deepEqual(await run(script(changed), { env: { ...env, NO_PROXY: 'localhost' } }), { ...on, proxied: 1 })
    // Proxies that the program gives Node stay with Node's own dispatcher.
    if ('setGlobalProxyFromEnv' in http) {
      const set = `;(await import('node:http')).setGlobalProxyFromEnv({ HTTP_PROXY: ${JSON.stringify(proxy.url)} })`
      const { proxied, warnings } = await run(script(set))
      assert.deepEqual([proxied, warnings], [1, ['ONEWRITE_DISPATCHER_LEFT']])
    }
    const alone = 'console.log((await fetch(process.env.ORIGIN)).status); process.exit()'
    /** @type {number[]} */
    const tunnels = []
    for (const args of [[], ['--import', register]]) {
      const { count, tunnels: before } = proxy
      const { out } = await runScript(alone, { args, env: { ...env, ORIGIN: origin.origin } })
      assert.deepEqual([out, proxy.count - count], [200, 1], String(args))
      tunnels.push(proxy.tunnels - before)
    }
    // undici 7, which Node 24 has, opens a tunnel for plain HTTP; undici 8 does not.
    assert.deepEqual(tunnels, [tunnels[0], tunnels[0]])
  })

  test('a plain Agent that the program has set uses no proxy', async () => {
    assert.equal((await run(script('undici.setGlobalDispatcher(new undici.Agent())'), { env: { HTTP_PROXY: proxy.url } })).proxied, 0)
  })
})

test('MockAgent.disableNetConnect() holds', async () => {
  let hits = 0
  const server = await startServer((socket) => { hits++; answerOk(socket) })
  const { out } = await runScript(`${head}
    const mock = new undici.MockAgent()
    mock.disableNetConnect()
    mock.get(${JSON.stringify(server.origin)}).intercept({ path: '/' }).reply(200, 'mocked')
    undici.setGlobalDispatcher(mock)
    install()
    const text = await (await fetch(${JSON.stringify(server.origin)})).text()
    const second = await fetch(${JSON.stringify(server.origin)}).then(() => 'sent', () => 'refused')
    console.log(JSON.stringify([text, second]))
    process.exit()`)
  await server.close()
  assert.deepEqual([out, hits], [['mocked', 'refused'], 0])
})
