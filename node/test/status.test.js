// status() says what is patched, and what is off for which reason. Each test is its own process.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const index = fileURLToPath(new URL('../src/index.js', import.meta.url))
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

const statusAfter = (script, env = {}) => JSON.parse(execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', `
  import * as onewrite from ${JSON.stringify(index)}
  import * as undici from 'undici'
  ${script}
  console.log(JSON.stringify(onewrite.status()))
  process.exit()`], { encoding: 'utf8', cwd: fileURLToPath(new URL('..', import.meta.url)), env: { ...process.env, ...env } }))

const FETCH = 'fetch and undici without a dispatcher'
const GUARD = 'http.client.request.created (guardNodeHttp)'

test('before anything is installed', () => {
  const status = statusAfter('')
  assert.deepEqual([status.version, status.enabled, status.offBecause, status.hookErrors], [version, true, undefined, 0])
  assert.equal(status.base.name, 'undici')
  assert.match(status.base.version, /^[78]\.\d+\.\d+$/)
  assert.equal(status.base.supported, true)
  assert.equal(status.patches[FETCH], 'not installed')
  assert.equal(status.patches[GUARD], 'not called')
  assert.deepEqual(status.options, { disabled: false, observe: false })
})

test('install() and guardNodeHttp() are listed, and a dispatcher that was replaced since', () => {
  const { patches } = statusAfter('onewrite.install(); onewrite.guardNodeHttp()')
  assert.deepEqual([patches[FETCH], patches[GUARD]], ['on', 'on'])
  assert.equal(statusAfter('onewrite.install(); undici.setGlobalDispatcher(new undici.Agent())').patches[FETCH], 'another dispatcher was set since')
  assert.equal(statusAfter('onewrite.install(); onewrite.uninstall()').patches[FETCH], 'not installed')
})

test('options of install() are those in force, and the switch that is the reason is named', () => {
  const { options, patches, hooks } = statusAfter('onewrite.install({ observe: true, connections: 1 }); onewrite.install({ onTiming () {} })')
  assert.deepEqual([options, hooks], [{ disabled: false, observe: true }, 1])
  assert.equal(patches['socket.setNoDelay of each connection'], 'observe is true')
  const off = statusAfter('onewrite.install()', { ONEWRITE_DISABLED: 'yes' })
  assert.deepEqual([off.enabled, off.offBecause, off.patches[FETCH]], [false, 'disabled is true', 'disabled is true'])
})
