// nodejs/node issue 62003: node:http over https on Node 20, 22 and up to 24.14 runs with Nagle on, so a body that comes in
// several turns of the event loop waits about 40 ms for the server's delayed acknowledgement. Shown by the segments that the
// server's kernel counts: Nagle's algorithm joins what it holds, so the control, Node's own agent, sends fewer segments than
// it writes. Times are measured in the bench.

import assert from 'node:assert/strict'
import https from 'node:https'
import { describe, test } from 'node:test'
import { Readable } from 'node:stream'
import axios from 'axios'
import got from 'got'
import { guardNodeHttp, HttpsAgent, unguardNodeHttp } from '../src/http/index.js'
import { localhostIdentity, startTap } from './support/tap.js'

const TURNS = 6
const ca = localhostIdentity().cert
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const cured = major > 24 || (major === 24 && minor >= 15)

function form () {
  const form = new FormData()
  form.append('a', 'b')
  form.append('f', new Blob(['x'.repeat(200)]), 'x.txt')
  return /** @type {any} */ (form)
}

async function * turns () {
  for (let turn = 0; turn < TURNS; turn++) {
    if (turn > 0) await new Promise((resolve) => setTimeout(resolve, 2))
    yield 'x'.repeat(50)
  }
}

/** @type {Record<string, (url: string, agent: any) => Promise<any>>} */
const calls = {
  'got, a form': (url, agent) => got.post(url, { body: form(), agent: { https: agent }, retry: { limit: 0 } }),
  'axios, a stream': (url, agent) => axios.post(url, Readable.from(turns()), { httpsAgent: agent, maxRedirects: 0 })
}

/** The segments of each of 20 requests on one kept connection, least first. */
async function segments (call, agent) {
  const tap = await startTap({ secure: true })
  try {
    for (let round = 0; round < 21; round++) await call(tap.origin, agent)
    return tap.requests.slice(1).map((request) => request.segments).sort((a, b) => a - b)
  } finally {
    agent.destroy()
    await tap.close()
  }
}

const options = { keepAlive: true, maxSockets: 1, ca }

describe(`on Node ${process.versions.node} over https`, () => {
  for (const [name, call] of Object.entries(calls)) {
    const least = name === 'got, a form' ? 3 : TURNS
    /** Node's own agent, played once. @type {Promise<number[]> | undefined} */
    let stock
    const check = async (ours) => {
      const control = await (stock ??= segments(call, new https.Agent(options)))
      const counts = await ours()
      // At least half of ours leave as they are written. When the machine pauses, nothing is joined, so the minimum of the
      // control counts.
      assert.ok(counts[10] >= least, `ours: ${counts}`)
      if (!cured) assert.ok(control[0] < least, `control: ${control}`)
    }
    // HttpsAgent joins the pieces of a form that come in one turn.
    if (name !== 'got, a form') test(`${name}: not held through HttpsAgent`, () => check(() => segments(call, new HttpsAgent(options))))
    test(`${name}: not held with the guard`, () => check(async () => {
      guardNodeHttp()
      try {
        return await segments(call, new https.Agent(options))
      } finally {
        unguardNodeHttp()
      }
    }))
  }
})
