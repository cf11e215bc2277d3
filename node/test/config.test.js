// Options: code over environment over default. What they do on the wire: the judge's cfg/8 and cfg/15.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import net from 'node:net'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as undici from 'undici'
import { isInRange } from '../src/base-version.js'
import { readEnvironment } from '../src/config.js'
import { Agent, HttpAgent, Pool } from '../src/index.js'
import { startTap } from './support/tap.js'

describe('the environment', () => {
  const warningsOf = (env) => {
    const seen = []
    const original = process.emitWarning
    process.emitWarning = (message) => { seen.push(String(message)) }
    try {
      return { config: readEnvironment(env), seen }
    } finally {
      process.emitWarning = original
    }
  }
  test('1 true yes on are true, 0 false no off are not, in any case; empty is unset', () => {
    for (const name of ['DISABLED', 'OBSERVE']) {
      for (const [words, wanted] of /** @type {[string, number][]} */ ([['1 true yes on TRUE Yes oN', 1], ['0 false no off FALSE No oFF', 0]])) {
        for (const word of words.split(' ').flatMap((word) => [word, ` ${word}\r\n`])) {
          const { config, seen } = warningsOf({ [`ONEWRITE_${name}`]: word })
          assert.deepEqual([Object.values(config).filter((value) => value === true).length, seen], [wanted, []], `${name}=${word}`)
        }
      }
    }
    assert.deepEqual(warningsOf({ ONEWRITE_DISABLED: '' }), warningsOf({}))
  })
  test('a bad value warns once and is ignored', () => {
    for (const env of [{ ONEWRITE_OBSERVE: '2' }, { ONEWRITE_DISABLED: 'yes please' }]) {
      const { config, seen } = warningsOf(env)
      assert.deepEqual(config, warningsOf({}).config)
      assert.equal(seen.length, 1)
      assert.ok(seen[0].startsWith(Object.keys(env)[0]))
    }
  })
  test('is read once, at load, and code wins', () => {
    const script = `
      import { readOptions } from ${JSON.stringify(fileURLToPath(new URL('../src/config.js', import.meta.url)))}
      process.env.ONEWRITE_DISABLED = 'false'
      console.log(JSON.stringify([readOptions().disabled, readOptions({ disabled: false }).disabled]))`
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', env: { ...process.env, ONEWRITE_DISABLED: 'true' } })
    assert.deepEqual(JSON.parse(out), [true, false])
  })
})

test('a bad value in code is refused with the name of the option', () => {
  for (const options of [{ disabled: 'yes' }, { onTiming: 1 }, { observe: 1 }]) {
    const name = new RegExp(Object.keys(options)[0] ?? '')
    for (const Class of [Agent, HttpAgent]) {
      assert.throws(() => new Class(/** @type {any} */ (options)), { name: 'TypeError', code: 'ONEWRITE_INVALID_OPTION', message: name })
    }
  }
})

test('versions of undici outside the range are recognized', () => {
  for (const version of ['7.29.1', '7.30.2', '8.10.1', '8.13.1']) assert.equal(isInRange(version), true, version)
  for (const version of ['6.29.1', '7.29.0', '8.9.0', '8.10.0', '9.0.0', '']) assert.equal(isInRange(version), false, version)
})

test('the user\'s noDelay is obeyed', async () => {
  const tap = await startTap({ count: false })
  const calls = []
  const original = net.Socket.prototype.setNoDelay
  // Wrapped, not replaced: undici and this package call it on the real socket.
  net.Socket.prototype.setNoDelay = function (on) { calls.push(on); return original.call(this, on) }
  try {
    const makers = [(options) => new Agent(options)]
    for (const [make, noDelay, wanted] of makers.flatMap((make) => [[make, undefined, true], [make, true, true], [make, false, false]])) {
      calls.length = 0
      const agent = make({ connect: noDelay === undefined ? {} : { noDelay } })
      await (await undici.request(tap.origin, { dispatcher: agent, method: 'POST', body: 'x' })).body.dump()
      await agent.destroy()
      assert.equal(calls.at(-1), wanted)
    }
  } finally {
    net.Socket.prototype.setNoDelay = original
    await tap.close()
  }
})

test('options that are not ours are undici\'s to check', async () => {
  const pool = new Pool('http://localhost', /** @type {any} */ ({ keepAlive: true, noSuchOption: true }))
  await assert.rejects(pool.request({ path: '/', method: 'GET' }), { message: /unsupported keepAlive/ })
  await pool.destroy()
})

test('options that undici reads through getters, frozen or in a class, reach it', async () => {
  const tap = await startTap({ count: false })
  class Options {
    #connect = { noDelay: true }
    get connect () { return this.#connect }
    get maxOrigins () { return 1 }
  }
  const calls = []
  const counting = Object.freeze({ connections: 1, get factory () { calls.push('factory'); return undefined } })
  try {
    for (const options of [new Options(), counting]) {
      const agent = new Agent(/** @type {any} */ (options))
      assert.equal((await undici.request(tap.origin, { dispatcher: agent })).statusCode, 200)
      if (options instanceof Options) await assert.rejects(undici.request('http://localhost:2', { dispatcher: agent }), /Maximum allowed origins|maxOrigins|origins/i)
      await agent.destroy()
    }
    assert.ok(calls.length > 0)
  } finally {
    await tap.close()
  }
})
