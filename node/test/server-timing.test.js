// Server-Timing in the record of a call, with each API. How a field is parsed is in testdata.test.js.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { test } from 'node:test'
import * as undici from 'undici'
import { Agent, HttpAgent, HttpsAgent, install, RetryAgent, uninstall } from '../src/index.js'
import https from 'node:https'
import { recorder } from './support/record.js'
import { startServer } from './support/server.js'
import { localhostIdentity } from './support/tap.js'

const WAIT_MS = 30
const FIELDS = 'Server-Timing: db;dur=1.5;desc="a, b"\r\nserver-timing: total;dur=2\r\n'
const answer = (socket) => setTimeout(() => socket.write(`HTTP/1.1 103 Early Hints\r\nServer-Timing: early;dur=1\r\n\r\nHTTP/1.1 200 OK\r\n${FIELDS}content-length: 2\r\n\r\nok`), WAIT_MS)
const ENTRIES = [{ name: 'db', durationNs: 1_500_000, description: 'a, b' }, { name: 'total', durationNs: 2_000_000 }]

/** @type {Record<string, (url: string, seen: any, ca?: string) => Promise<() => void>>} each makes one call, and returns what closes it */
const ways = {
  'undici.request': async (url, seen, ca) => {
    const dispatcher = new Agent({ connect: { ca }, ...seen.hooks })
    await (await undici.request(url, { dispatcher })).body.text()
    return () => dispatcher.destroy()
  },
  'undici.fetch': async (url, seen, ca) => {
    const dispatcher = new Agent({ connect: { ca }, ...seen.hooks })
    await (await undici.fetch(url, { dispatcher })).text()
    return () => dispatcher.destroy()
  },
  'install() and fetch': async (url, seen, ca) => {
    install({ connect: { ca }, ...seen.hooks })
    await (await fetch(url)).text()
    return () => uninstall()
  },
  'HttpAgent and HttpsAgent': async (url, seen, ca) => {
    const secure = url.startsWith('https')
    const agent = secure ? new HttpsAgent({ ca, ...seen.hooks }) : new HttpAgent(seen.hooks)
    const [response] = await once((secure ? https : http).get(url, { agent }), 'response')
    await response.resume().toArray()
    return () => agent.destroy()
  }
}

for (const secure of [false, true]) {
  for (const [name, call] of Object.entries(ways)) {
    test(`${name}, ${secure ? 'https' : 'http'}: two fields of the final response, none of an interim one`, async () => {
      const server = await startServer(answer, { secure })
      const seen = recorder()
      const close = await call(server.origin, seen, secure ? localhostIdentity().cert : undefined)
      const timing = await seen.last()
      close()
      await server.close()
      assert.deepEqual(timing.serverTiming, ENTRIES)
      assert.equal(timing.serverNs, 2_000_000)
      assert.equal(timing.networkNs, timing.waitNs - 2_000_000)
      assert.match(String(timing), /wait (\d+\.\d) = server 2\.0 \+ network \d+\.\d/)
      assert.deepEqual(JSON.parse(JSON.stringify(timing)).server_timing, [{ name: 'db', duration_ns: 1_500_000, description: 'a, b' }, { name: 'total', duration_ns: 2_000_000 }])
    })
  }
}

test('each attempt has its own, and a response without has none', async () => {
  let count = 0
  const server = await startServer((socket) => socket.write(count++ === 0
    ? 'HTTP/1.1 503 Busy\r\nserver-timing: busy\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n'
    : 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'))
  const seen = recorder()
  const agent = new Agent(seen.hooks)
  await (await undici.request(server.origin, { dispatcher: new RetryAgent(agent, { minTimeout: 1 }) })).body.text()
  const timing = await seen.last()
  await agent.destroy()
  await server.close()
  assert.deepEqual(timing.attempts.map(({ serverTiming, serverNs }) => [serverTiming, serverNs]), [[[{ name: 'busy' }], undefined], [undefined, undefined]])
  assert.deepEqual(['serverTiming', 'serverNs', 'networkNs'].map((name) => timing[name]), [undefined, undefined, undefined])
})
