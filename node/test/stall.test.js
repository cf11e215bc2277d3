// nodejs/node issue 62003: node:http over https on Node 20, 22 and up to 24.14 runs with Nagle on, so a body that comes in
// several turns of the event loop waits about 40 ms for the server's delayed acknowledgement. The control is Node's own
// agent in the same run; where Node has been cured it does not stall, and then nothing may be slower than it.

import assert from 'node:assert/strict'
import https from 'node:https'
import { describe, test } from 'node:test'
import { Readable } from 'node:stream'
import axios from 'axios'
import got from 'got'
import { guardNodeHttp, HttpsAgent, unguardNodeHttp } from '../src/http.js'
import { localhostIdentity, startTap } from './support/tap.js'

const STALL_MS = 30
const ca = localhostIdentity().cert
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const cured = major > 24 || (major === 24 && minor >= 15)

function form () {
  const form = new FormData()
  form.append('a', 'b')
  form.append('f', new Blob(['x'.repeat(200)]), 'x.txt')
  return /** @type {any} */ (form)
}

async function * twoTurns () {
  yield 'x'.repeat(100)
  await new Promise((resolve) => setTimeout(resolve, 2))
  yield 'y'.repeat(100)
}

/** @type {Record<string, (url: string, agent: any) => Promise<any>>} */
const calls = {
  'got, a form': (url, agent) => got.post(url, { body: form(), agent: { https: agent }, retry: { limit: 0 } }),
  'got, a stream': (url, agent) => got.post(url, { body: Readable.from(twoTurns()), agent: { https: agent }, retry: { limit: 0 } }),
  'axios, a stream': (url, agent) => axios.post(url, Readable.from(twoTurns()), { httpsAgent: agent, maxRedirects: 0 })
}

/** What 20 requests on one kept connection took, ms, shortest first, after 10 that its quick start may spare. */
async function durations (call, agent) {
  const tap = await startTap({ secure: true, count: false })
  try {
    const took = []
    for (let round = 0; round < 30; round++) {
      const start = performance.now()
      await call(tap.origin, agent)
      took.push(performance.now() - start)
    }
    return took.slice(10).sort((a, b) => a - b)
  } finally {
    agent.destroy()
    await tap.close()
  }
}

const options = { keepAlive: true, maxSockets: 1, ca }

describe(`on Node ${process.versions.node} over https`, () => {
  for (const [name, call] of Object.entries(calls)) {
    // Any request can be slow on a machine that is busy elsewhere, so what counts is the fastest quarter: where there
    // is a stall it takes nearly all of them.
    const check = async (ours) => {
      const control = (await durations(call, new https.Agent(options)))[10] ?? 0
      const fastest = (await ours())[4] ?? Infinity
      if (cured) return assert.ok(fastest < control * 2, `a quarter took up to ${fastest} ms, half of the control ${control}`)
      assert.ok(control >= STALL_MS, `half of the control took less than ${control} ms`)
      assert.ok(fastest < control / 2, `a quarter took up to ${fastest} ms, half of the control ${control}`)
    }
    test(`${name}: no stall through HttpsAgent`, () => check(() => durations(call, new HttpsAgent(options))))
    test(`${name}: no stall with the guard`, () => check(async () => {
      guardNodeHttp()
      try {
        return await durations(call, new https.Agent(options))
      } finally {
        unguardNodeHttp()
      }
    }))
  }
})
