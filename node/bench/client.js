// A client of the bench. Each variant runs in a separate process, whose CPU time is measured.
// Usage, by bench.js: client.js undici|http REQUEST VARIANT CALLERS URL LEAST-MS MOST-MS.
// It warms up and sends its parent the number of those calls. For each number from its parent it makes as many calls, and sends the CPU µs.

import http from 'node:http'
import https from 'node:https'
import { createRequire } from 'node:module'
import * as undici from 'undici'
import { Agent, HttpAgent, HttpsAgent } from '../src/index.js'

const CONNECTIONS = 10
/** Calls of a part of the warm-up, and the parts that are compared: the first half with the second. */
const [PART, PARTS] = [500, 20]
/** Largest difference of the halves when the compiler has done its work. */
const SETTLED = 0.02

const [, , library, request, variant = '', callers, url = '', leastMs, mostMs] = process.argv
const METHOD = request === 'GET' ? 'GET' : 'POST'
/** The server knows the end by the x. */
const BODY = request === 'GET' ? undefined : Buffer.from(`${'-'.repeat(request === '20 kB' ? 19_999 : 199)}x`)
/** Calls of the hook, or spans. */
let seen = 0

/** It reads what most hooks read. */
const onTiming = ({ status, totalNs }) => { if (status === 200 && totalNs > 0) seen++ }
/** @type {Record<string, () => object | null | Promise<null>>} our options, null for stock */
const VARIANTS = {
  stock: () => null,
  'stock again': () => null,
  onewrite: () => ({}),
  on_timing: () => ({ onTiming }),
  OpenTelemetry: instrument
}

/** As its SDK for Node sets it up. A processor in place of the exporter counts the spans. */
async function instrument () {
  const { context, propagation, trace } = await import('@opentelemetry/api')
  const { AsyncLocalStorageContextManager } = await import('@opentelemetry/context-async-hooks')
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core')
  const { TracerProvider } = await import('@opentelemetry/sdk-trace')
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const counter = { onStart () {}, onEnd () { seen++ }, async forceFlush () {}, async shutdown () {} }
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [counter] }))
  if (library === 'undici') {
    const { UndiciInstrumentation } = await import('@opentelemetry/instrumentation-undici')
    new UndiciInstrumentation().enable()
  } else {
    const { HttpInstrumentation } = await import('@opentelemetry/instrumentation-http')
    new HttpInstrumentation().enable()
    // It patches what is required after it; the import of this file gives the same object.
    createRequire(import.meta.url)('http')
  }
  return null
}

/** @param {any} ours */
function callOf (ours) {
  const tls = { rejectUnauthorized: false }
  if (library === 'undici') {
    const options = { connections: CONNECTIONS, connect: tls, ...ours }
    const dispatcher = ours === null ? new undici.Agent(options) : new Agent(options)
    return async () => (await undici.request(url, { dispatcher, method: METHOD, body: BODY })).body.dump()
  }
  const [node, OurAgent] = url.startsWith('https:') ? [https, HttpsAgent] : [http, HttpAgent]
  const options = { keepAlive: true, maxSockets: CONNECTIONS, ...tls, ...ours }
  const agent = ours === null ? new node.Agent(options) : new OurAgent(options)
  return () => new Promise((resolve, reject) => {
    node.request(url, { agent, method: METHOD }, (response) => response.resume().on('end', resolve)).on('error', reject).end(BODY)
  })
}

const call = callOf(await VARIANTS[variant]?.())
let made = 0

/** Makes so many calls, each caller one after the other. @returns {Promise<number>} their CPU, µs */
async function cpuOf (calls) {
  let left = calls
  const caller = async () => { while (left-- > 0) await call() }
  const start = process.cpuUsage()
  await Promise.all(Array.from({ length: Number(callers) }, caller))
  const { user, system } = process.cpuUsage(start)
  made += calls
  return user + system
}

async function warmUp () {
  const costs = []
  const sum = (part) => part.reduce((all, one) => all + one, 0)
  const isSettled = () => {
    const last = costs.slice(-PARTS)
    return last.length === PARTS && Math.abs(sum(last.slice(PARTS / 2)) / sum(last.slice(0, PARTS / 2)) - 1) <= SETTLED
  }
  while (sum(costs) < Number(mostMs) * 1000 && (sum(costs) < Number(leastMs) * 1000 || !isSettled())) costs.push(await cpuOf(PART))
}

process.on('disconnect', () => process.exit())
await warmUp()
// A hook that is never called costs nothing.
if (!/^stock|^onewrite/.test(variant) && seen < made * 0.99) throw new Error(`${variant}: ${seen} of ${made} calls were seen`)
process.on('message', async (calls) => process.send?.(await cpuOf(calls)))
process.send?.(made)
