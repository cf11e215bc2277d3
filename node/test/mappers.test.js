// The mappers on real records: what OpenTelemetry, W3C Resource Timing and HAR demand of the values.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as undici from 'undici'
import { Agent } from '../src/index.js'
import { harTimings, otelAttributes, otelMetrics, resourceTiming } from '../src/timing/mappers.js'
import { recorder } from './support/record.js'
import { answerOk, startServer } from './support/server.js'
import { localhostIdentity } from './support/tap.js'

async function records (secure) {
  const server = await startServer(answerOk, { secure })
  const seen = recorder()
  const agent = new Agent({ connections: 1, connect: { ca: localhostIdentity().cert }, ...seen.hooks })
  for (let round = 0; round < 2; round++) {
    await (await undici.request(`${server.origin}/a?b=c`, { dispatcher: agent, method: 'POST', body: 'x' })).body.text()
    await seen.last()
  }
  await agent.destroy()
  await server.close()
  return { timings: seen.timings, port: server.port }
}

for (const secure of [false, true]) {
  test(`${secure ? 'https' : 'http'}: the invariants of W3C Resource Timing`, async () => {
    const { timings: [fresh, reused] } = await records(secure)
    for (const timing of [fresh, reused]) {
      const entry = resourceTiming(timing)
      const order = ['startTime', 'fetchStart', 'domainLookupStart', 'domainLookupEnd', 'connectStart', 'connectEnd', 'requestStart', 'responseStart', 'responseEnd']
      for (let index = 1; index < order.length; index++) assert.ok(entry[order[index]] >= entry[order[index - 1]], order[index])
      assert.ok(entry.responseEnd <= entry.duration)
      assert.equal(entry.responseStatus, 200)
    }
    const first = resourceTiming(fresh)
    assert.ok(first.connectEnd > first.connectStart)
    assert.equal(first.secureConnectionStart > 0, secure)
    if (secure) assert.ok(first.secureConnectionStart >= first.connectStart && first.secureConnectionStart <= first.connectEnd)
    const second = resourceTiming(reused)
    for (const name of ['domainLookupStart', 'domainLookupEnd', 'connectStart', 'connectEnd']) assert.equal(second[name], second.fetchStart)
    assert.equal(second.secureConnectionStart, 0)
  })
}

test('OpenTelemetry', async () => {
  const { timings: [timing], port } = await records(false)
  assert.deepEqual(otelAttributes(timing), {
    'http.request.method': 'POST',
    'url.full': `http://localhost:${port}/a?b=c`,
    'server.address': 'localhost',
    'server.port': port,
    'http.response.status_code': 200
  })
  const metrics = otelMetrics(timing)
  assert.ok(metrics['http.client.request.duration'] > 0 && metrics['http.client.request.duration'] <= timing.totalNs / 1e9)
  assert.equal(metrics['http.client.request.time_in_queue'], timing.queueNs / 1e9)
})

test('HAR: parts of the time, -1 for what did not happen', async () => {
  const { timings: [fresh, reused] } = await records(true)
  const first = harTimings(fresh)
  assert.equal(first.timings.connect, (fresh.connectNs + fresh.tlsNs) / 1e6)
  const { blocked, dns, connect, send, wait, receive } = first.timings
  assert.ok(blocked + dns + connect + send + wait + receive <= first.time)
  assert.ok(Math.abs(Date.parse(first.startedDateTime) - Date.now()) < 10_000)
  const second = harTimings(reused).timings
  assert.deepEqual([second.dns, second.connect, second.ssl], [-1, -1, -1])
})
