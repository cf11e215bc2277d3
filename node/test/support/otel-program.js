// A program with OpenTelemetry's SDK and instrumentations. Prints the results of its calls as JSON.
// node otel-program.js stock|onewrite fetch|undici|http onewrite-first|instrumentation-first ORIGIN DEAD-ORIGIN

import { once } from 'node:events'
import http from 'node:http'
import { createRequire } from 'node:module'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import * as opentelemetry from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { suppressTracing, W3CTraceContextPropagator } from '@opentelemetry/core'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as undici from 'undici'
import * as onewrite from '../../src/index.js'
import { openTelemetry } from '../../src/opentelemetry/index.js'

const { context, metrics, propagation, SpanKind, trace } = opentelemetry

const [, , way = '', api = '', order = '', origin = '', dead = ''] = process.argv
const BODY = 'x'.repeat(200)

const [spans, numbers] = [new InMemorySpanExporter(), new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)]
/** @type {any[]} */
const records = []
const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 2 ** 30 })

function startSdk () {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }))
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  for (const instrumentation of [new UndiciInstrumentation(), new HttpInstrumentation()]) instrumentation.enable()
  createRequire(import.meta.url)('http')
}

/** @returns {{call: (method: string, url: string, options?: {body?: any, signal?: AbortSignal}) => Promise<any>, close: () => any}} */
function makeClient () {
  const report = openTelemetry()
  const hooks = way === 'stock' ? null : { onTiming (record) { report(record); records.push(record) } }
  if (api === 'http') {
    const agent = hooks === null ? new http.Agent({ keepAlive: true, maxSockets: 1 }) : new onewrite.HttpAgent({ keepAlive: true, maxSockets: 1, ...hooks })
    return {
      async call (method, url, { body, signal } = {}) {
        const request = http.request(url, { method, agent, signal })
        request.end(body)
        const [response] = await once(request, 'response')
        const parts = await response.toArray()
        return [response.statusCode, Buffer.concat(parts).toString()]
      },
      close: () => agent.destroy()
    }
  }
  const own = hooks === null ? new undici.Agent({ connections: 1 }) : new onewrite.Agent({ connections: 1, ...hooks })
  if (api === 'undici') {
    return {
      async call (method, url, options = {}) {
        const { statusCode, body } = await undici.request(url, { ...options, method: /** @type {any} */ (method), dispatcher: own })
        return [statusCode, await body.text()]
      },
      close: () => own.close()
    }
  }
  if (hooks !== null) onewrite.install({ connections: 1, ...hooks })
  else undici.setGlobalDispatcher(own)
  return {
    async call (method, url, options = {}) {
      const response = await fetch(url, { ...options, method })
      return [response.status, await response.text()]
    },
    close: () => hooks === null ? own.close() : onewrite.uninstall()
  }
}

let client
if (order === 'onewrite-first') {
  client = makeClient()
  startSdk()
} else {
  startSdk()
  client = makeClient()
}

/** @type {any[]} */
const results = []
const outcome = async (run) => {
  try {
    results.push(await run())
  } catch (error) {
    results.push(`${error.name} ${error.code ?? error.cause?.code ?? ''}`)
  }
}
for (let round = 0; round < 21; round++) await outcome(() => client.call('POST', `${origin}/judged`, { body: BODY }))
const slow = outcome(() => client.call('GET', `${origin}/slow-body`))
// On a socket that no instrumentation sees: ends the slow body.
net.connect(Number(new URL(origin).port), '127.0.0.1').end('FINISH / HTTP/1.1\r\n\r\n').resume()
await slow
await outcome(() => client.call('GET', `${origin}/missing`))
await outcome(() => client.call('GET', `${dead}/dead`))
await outcome(() => client.call('GET', `${origin}/never`, { signal: AbortSignal.timeout(1000) }))
const server = trace.getTracer('program').startSpan('incoming', { kind: SpanKind.SERVER })
await context.with(trace.setSpan(context.active(), server), () => outcome(() => client.call('GET', `${origin}/get`)))
server.end()
// The SDK suppresses tracing for the requests of exporters like this.
await context.with(suppressTracing(context.active()), () => outcome(() => client.call('POST', `${origin}/exported`, { body: BODY })))
// The server closes the connection; then the pool closes.
await outcome(() => client.call('GET', `${origin}/close`))
await outcome(() => client.call('GET', `${origin}/get`))
await client.close()
// 28 calls and the incoming request. The record of the exporter's own request is not reported.
await poll(() => spans.getFinishedSpans().length >= 29 && (way === 'stock' || records.length >= 29))
const metricsOfAll = await collect()

/** Repeats until the condition holds, or for some 20 s: then the test fails on the last result. */
async function poll (condition) {
  for (let look = 0; look < 4000 && !await condition(); look++) await sleep(5)
}

async function collect () {
  numbers.reset()
  await reader.forceFlush()
  return numbers.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics).filter(({ scope }) => scope.name === 'onewrite').flatMap((scope) => scope.metrics)
    .map(({ descriptor, dataPoints }) => ({ name: descriptor.name, unit: descriptor.unit, points: dataPoints.map(({ attributes, value }) => ({ attributes, value })) }))
}

process.stdout.write(JSON.stringify({
  results,
  spans: spans.getFinishedSpans().map((span) => ({ name: span.name, kind: span.kind, status: span.status.code, ids: ids(span.spanContext()), attributes: span.attributes })),
  records,
  metrics: metricsOfAll,
  hookFailures: onewrite.hookFailures()
}), () => process.exit())

function ids ({ traceId, spanId }) { return `${traceId} ${spanId}` }
