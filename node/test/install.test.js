// install() and uninstall(), each in its own process, because the global dispatcher is one per process.

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runScript } from './support/script.js'
import { startTap } from './support/tap.js'

const index = fileURLToPath(new URL('../src/index.js', import.meta.url))

const withTap = async (run) => {
  const tap = await startTap({ count: false })
  try {
    return await run(tap)
  } finally {
    await tap.close()
  }
}

test('uninstall() leaves a dispatcher that was set since', async () => {
  const { out } = await runScript(`
    import { install, uninstall } from ${JSON.stringify(index)}
    import * as undici from 'undici'
    const stock = undici.getGlobalDispatcher()
    install()
    const installed = undici.getGlobalDispatcher() !== stock
    const other = new undici.Agent()
    undici.setGlobalDispatcher(other)
    const took = uninstall()
    const kept = undici.getGlobalDispatcher() === other
    undici.setGlobalDispatcher(stock)
    install()
    console.log(JSON.stringify({ installed, took, kept, back: uninstall() && undici.getGlobalDispatcher() === stock, again: uninstall() }))`)
  assert.deepEqual(out, { installed: true, took: false, kept: true, back: true, again: false })
})

test('install({ disabled: true }) undoes the calls before it', async () => {
  const { out } = await runScript(`
    import { install, status } from ${JSON.stringify(index)}
    import * as undici from 'undici'
    const stock = undici.getGlobalDispatcher()
    install({ onTiming () {} })
    const was = undici.getGlobalDispatcher() !== stock
    const second = install({ disabled: true, onTiming () {} })
    const back = undici.getGlobalDispatcher() === stock
    const { hooks } = status()
    install()
    console.log(JSON.stringify({ was, back, hooks, removed: second(), on: undici.getGlobalDispatcher() !== stock, after: status().hooks }))`)
  assert.deepEqual(out, { was: true, back: true, hooks: 0, removed: false, on: true, after: 0 })
})

test('options stay when the hook of their call is removed; uninstall() ends them', async () => {
  const { out } = await runScript(`
    import { install, status, uninstall } from ${JSON.stringify(index)}
    import * as undici from 'undici'
    const stock = undici.getGlobalDispatcher()
    const state = () => [undici.getGlobalDispatcher() !== stock, status().options.observe, status().hooks]
    const remove = install({ observe: true, onTiming () {} })
    const states = [state()]
    const removed = [remove(), remove()]
    states.push(state())
    install({ connections: 1 })
    states.push(state())
    uninstall()
    states.push(state())
    console.log(JSON.stringify({ removed, states }))`)
  assert.deepEqual(out, { removed: [true, false], states: [[true, true, 1], [true, true, 0], [true, true, 0], [false, false, 0]] })
})

test('what stands on the installed Agent goes on after uninstall() and after a second install()', async () => {
  const { out } = await withTap((tap) => runScript(`
    import { install, uninstall } from ${JSON.stringify(index)}
    import * as undici from 'undici'
    const url = ${JSON.stringify(tap.origin)}
    const stock = undici.getGlobalDispatcher()
    const works = async (dispatcher) => {
      try {
        return await (await undici.request(url, { dispatcher })).body.text()
      } catch (error) { return error.message }
    }
    const results = {}
    for (const again of [uninstall, install]) {
      install()
      const saved = undici.getGlobalDispatcher()
      const composed = saved.compose(undici.interceptors.redirect())
      const mock = new undici.MockAgent({ agent: saved })
      mock.enableNetConnect()
      undici.setGlobalDispatcher(composed)
      again()
      results[again.name] = [await works(saved), await works(composed), await works(mock)]
      uninstall()
      undici.setGlobalDispatcher(stock)
    }
    install()
    const held = undici.getGlobalDispatcher()
    uninstall()
    results.saved = await works(held)
    console.log(JSON.stringify(results))
    process.exit()`))
  assert.deepEqual(out, { uninstall: ['ok', 'ok', 'ok'], install: ['ok', 'ok', 'ok'], saved: 'ok' })
})

for (const order of ['a b', 'b a']) {
  test(`two copies of the package, uninstalled in the order ${order}: the second stays off with one warning, fetch works, and nothing of them is left`, async () => {
    const { out } = await withTap((tap) => runScript(`
      const a = await import(${JSON.stringify(`${pathToFileURL(index)}`)})
      const b = await inCopy()
      const undici = await import('undici')
      const stock = undici.getGlobalDispatcher()
      const get = async () => (await fetch(${JSON.stringify(tap.origin)})).text()
      const texts = []
      const warnings = []
      process.on('warning', ({ message }) => warnings.push(message))
      a.install()
      b.install()
      texts.push(await get())
      texts.push(warnings.length === 1 && warnings[0].includes('another copy of onewrite'))
      for (const copy of ${JSON.stringify(order.split(' '))}) {
        ({ a, b })[copy].uninstall()
        texts.push(await get())
      }
      console.log(JSON.stringify({ texts, same: undici.getGlobalDispatcher() === stock }))
      process.exit()
      async function inCopy () {
        const { cpSync, mkdirSync, mkdtempSync } = await import('node:fs')
        mkdirSync('build', { recursive: true })
        const folder = mkdtempSync('build/copy-')
        process.on('exit', () => process.getBuiltinModule('node:fs').rmSync(folder, { recursive: true }))
        cpSync('src', folder + '/src', { recursive: true })
        cpSync('package.json', folder + '/package.json')
        return import(process.cwd() + '/' + folder + '/src/index.js')
      }`))
    assert.deepEqual(out, { texts: ['ok', true, 'ok', 'ok'], same: true })
  })
}

test('hooks of several install() add, and each is removed without the others', async () => {
  const { out } = await withTap((tap) => runScript(`
    import { install, uninstall } from ${JSON.stringify(index)}
    import * as undici from 'undici'
    const url = ${JSON.stringify(tap.origin)}
    const stock = undici.getGlobalDispatcher()
    let seen = []
    const rounds = []
    const get = async (dispatcher = undici.getGlobalDispatcher()) => {
      await (await undici.request(url, { dispatcher, method: 'POST', body: 'x' })).body.text()
      await new Promise(setImmediate)
      rounds.push(seen.join(' '))
      seen = []
    }
    const none = install({ connections: 1 })
    await get()
    const a = install({ onTiming: () => { seen.push('a') } })
    await get()
    const first = undici.getGlobalDispatcher()
    const b = install({ onTiming: () => { seen.push('b'); throw new Error('hook') } })
    const same = undici.getGlobalDispatcher() === first
    const hook = () => { seen.push('c') }
    const [c, again] = [install({ onTiming: hook }), install({ onTiming: hook })]
    const composed = first.compose(undici.interceptors.redirect())
    await get()
    await get(composed)
    a()
    c()
    await get()
    b()
    again()
    await get()
    console.log(JSON.stringify({ rounds, same, none: none(), twice: a(), back: uninstall() && undici.getGlobalDispatcher() === stock, again: uninstall() }))
    process.exit()`))
  assert.deepEqual(out, { rounds: ['', 'a', 'a b c c', 'a b c c', 'b c', ''], same: true, none: false, twice: false, back: true, again: false })
})

const requiresModules = /** @type {any} */ (process.features).require_module === true

test('a CommonJS program can require the package', { skip: !requiresModules && 'this Node requires no ES modules' }, async () => {
  const { out } = await runScript(`
    import { createRequire } from 'node:module'
    const onewrite = createRequire(import.meta.url)('onewrite')
    console.log(JSON.stringify(Object.keys(onewrite).includes('Agent')))`)
  assert.equal(out, true)
})

const register = fileURLToPath(new URL('../src/register.js', import.meta.url))

/** This package in a folder of its own, with the undici that `put` puts beside it. */
async function inFolder (put, run) {
  const folder = mkdtempSync(join(tmpdir(), 'onewrite-install-'))
  try {
    const here = fileURLToPath(new URL('..', import.meta.url))
    cpSync(join(here, 'src'), join(folder, 'src'), { recursive: true })
    cpSync(join(here, 'package.json'), join(folder, 'package.json'))
    put(join(folder, 'node_modules', 'undici'), dirname(createRequire(import.meta.url).resolve('undici/package.json')))
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Whether a subscriber sets TCP_NODELAY for node:http, and whether fetch goes through our Agent. */
const state = `
  import dc from 'node:diagnostics_channel'
  import * as undici from 'undici'
  const { Agent } = await import(${JSON.stringify(index)})
  console.log(JSON.stringify({ guarded: ['created', 'start'].some((name) => dc.hasSubscribers('http.client.request.' + name)), ours: undici.getGlobalDispatcher() instanceof Agent }))`

test('node --import onewrite/register: fetch and node:http without a change to the program', async () => {
  const args = ['--import', register]
  assert.deepEqual((await runScript(state, { args })).out, { guarded: true, ours: true })
  assert.deepEqual((await runScript(state, { args, env: { ONEWRITE_DISABLED: 'true' } })).out, { guarded: false, ours: false })
})

test('register without undici guards node:http and warns once that fetch is not installed', () => inFolder(() => {}, async (folder) => {
  const { out, error } = await runScript(`
    import dc from 'node:diagnostics_channel'
    console.log(JSON.stringify(['created', 'start'].some((name) => dc.hasSubscribers('http.client.request.' + name))))`, { args: ['--import', join(folder, 'src', 'register.js')] })
  assert.equal(out, true)
  assert.equal(error.match(/ONEWRITE_FETCH_NOT_INSTALLED/g)?.length, 1)
  assert.match(error, /onewrite\/register leaves fetch as it is: Cannot find package 'undici'/)
}))

test('compiled to CommonJS, as Jest does, it works', () => inFolder((to, from) => {
  cpSync(from, to, { recursive: true, dereference: true })
}, async (folder) => {
  const { default: typescript } = await import('typescript')
  writeFileSync(join(folder, 'package.json'), '{"name":"onewrite"}')
  for (const name of readdirSync(join(folder, 'src'), { recursive: true }).map(String).filter((name) => name.endsWith('.js'))) {
    const file = join(folder, 'src', name)
    const compilerOptions = { module: typescript.ModuleKind.CommonJS, target: typescript.ScriptTarget.ES2022, esModuleInterop: true }
    writeFileSync(file, typescript.transpileModule(readFileSync(file, 'utf8'), { compilerOptions }).outputText)
  }
  await withTap(async ({ port }) => {
    const { out, error } = await runScript(`
      import { createRequire } from 'node:module'
      const require = createRequire(${JSON.stringify(join(folder, 'src', 'index.js'))})
      const { Agent, status } = require('./index.js')
      const agent = new Agent({ onTiming: (record) => console.log(JSON.stringify([record.status, status().base.version !== undefined])) })
      const { body } = await require('undici').request('http://127.0.0.1:${port}/', { dispatcher: agent, method: 'POST', body: 'x' })
      await body.dump()
      await agent.close()`)
    assert.deepEqual(out, [200, true], error)
  })
}))

test('with an unsupported undici everything stays stock, with one warning', () => inFolder((to, from) => {
  cpSync(from, to, { recursive: true, dereference: true })
  const file = join(to, 'package.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/"version": "[^"]*"/, '"version": "8.9.0"'))
}, async (folder) => {
  const { out, error } = await runScript(`
    const { Agent, install } = await import(${JSON.stringify(join(folder, 'src', 'index.js'))})
    const installed = install()
    const agents = [new Agent(), new Agent({ onTiming () {} })]
    console.log(JSON.stringify(installed()))
    for (const agent of agents) await agent.close()`)
  assert.equal(out, false)
  assert.equal(error.match(/ONEWRITE_UNSUPPORTED_BASE/g)?.length, 1)
  assert.match(error, /it supports undici >=7\.29\.1 <8 and >=8\.10\.1 <9, and this is 8\.9\.0/)
}))

test('an undici that lacks classes, as undici 5, is no error of the import', () => inFolder((to) => {
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, 'package.json'), '{"name":"undici","version":"5.29.0","main":"index.js"}')
  writeFileSync(join(to, 'index.js'), 'class Client {}\nmodule.exports = { Client, Agent: class Agent {}, Pool: class Pool {}, getGlobalDispatcher () {} }')
}, async (folder) => {
  const { out, error } = await runScript(`
    const { install, HttpAgent } = await import(${JSON.stringify(join(folder, 'src', 'index.js'))})
    new HttpAgent()
    console.log(JSON.stringify(install()()))`)
  assert.equal(out, false)
  assert.equal(error.match(/ONEWRITE_UNSUPPORTED_BASE/g)?.length, 1)
}))
