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

const ROUNDS = 20
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

/** How many of 20 requests on one kept connection took longer than a stall's least. */
async function stalls (call, agent) {
  const tap = await startTap({ secure: true, count: false })
  try {
    let count = 0
    for (let round = 0; round < ROUNDS; round++) {
      const start = performance.now()
      await call(tap.origin, agent)
      if (performance.now() - start > STALL_MS) count++
    }
    return count
  } finally {
    agent.destroy()
    await tap.close()
  }
}

/** @param {number} control */
const allowed = (control) => cured ? control + ROUNDS / 2 : control / 2

const options = { keepAlive: true, maxSockets: 1, ca }

/** The control and ours; a machine that is busy elsewhere makes anyone slow, so up to five times. */
async function compare (call, ours) {
  for (let attempt = 1; ; attempt++) {
    const control = await stalls(call, new https.Agent(options))
    const fixed = await ours()
    const shown = fixed <= allowed(control) && (cured || control >= ROUNDS / 2)
    if (shown || attempt === 5) return [control, fixed]
  }
}

describe(`on Node ${process.versions.node} over https`, () => {
  for (const [name, call] of Object.entries(calls)) {
    const check = async (ours) => {
      const [control = 0, fixed = 0] = await compare(call, ours)
      if (!cured) assert.ok(control >= ROUNDS / 2, `Node's own agent stalled in ${control} of ${ROUNDS}`)
      assert.ok(fixed <= allowed(control), `${fixed} of ${ROUNDS} stalled, the control in ${control}`)
    }
    test(`${name}: no stall through HttpsAgent`, () => check(() => stalls(call, new HttpsAgent(options))))
    test(`${name}: no stall with the guard`, () => check(async () => {
      guardNodeHttp()
      try {
        return await stalls(call, new https.Agent(options))
      } finally {
        unguardNodeHttp()
      }
    }))
  }
})
