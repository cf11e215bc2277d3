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
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as undici from 'undici'
import * as onewrite from '../../src/index.js'
import { openTelemetry } from '../../src/opentelemetry/index.js'

const { context, metrics, propagation, SpanKind, trace } = opentelemetry
// Part of the API from 1.10 on.
const logs = /** @type {any} */ (opentelemetry).logs ?? (await import('@opentelemetry/api-logs')).logs

const [, , way = '', api = '', order = '', origin = '', dead = ''] = process.argv
const BODY = 'x'.repeat(200)

const [spans, events, numbers] = [new InMemorySpanExporter(), new InMemoryLogRecordExporter(), new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)]
const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 2 ** 30 })

function startSdk () {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }))
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter: events })] }))
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  for (const instrumentation of [new UndiciInstrumentation(), new HttpInstrumentation()]) instrumentation.enable()
  createRequire(import.meta.url)('http')
}

/** @returns {{call: (method: string, url: string, options?: {body?: any, signal?: AbortSignal}) => Promise<any>, close: () => any}} */
function makeClient () {
  const listener = way === 'stock' ? undefined : openTelemetry()
  if (api === 'http') {
    const agent = listener === undefined ? new http.Agent({ keepAlive: true, maxSockets: 1 }) : new onewrite.HttpAgent({ keepAlive: true, maxSockets: 1, listener })
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
  const own = listener === undefined ? new undici.Agent({ connections: 1 }) : new onewrite.Agent({ connections: 1, listener })
  if (api === 'undici') {
    return {
      async call (method, url, options = {}) {
        const { statusCode, body } = await undici.request(url, { ...options, method: /** @type {any} */ (method), dispatcher: own })
        return [statusCode, await body.text()]
      },
      close: () => own.close()
    }
  }
  if (listener !== undefined) onewrite.install({ connections: 1, listener })
  else undici.setGlobalDispatcher(own)
  return {
    async call (method, url, options = {}) {
      const response = await fetch(url, { ...options, method })
      return [response.status, await response.text()]
    },
    close: () => listener === undefined ? own.close() : onewrite.uninstall()
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
// 28 calls and the incoming request.
await poll(() => spans.getFinishedSpans().length >= 29 && (way === 'stock' || events.getFinishedLogRecords().length >= 28))
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
  events: events.getFinishedLogRecords().map((event) => ({
    name: event.eventName, severity: event.severityText, scope: event.instrumentationScope, ids: event.spanContext && ids(event.spanContext), attributes: event.attributes, body: event.body, at: event.hrTime
  })),
  metrics: metricsOfAll,
  hookFailures: onewrite.hookFailures()
}), () => process.exit())

function ids ({ traceId, spanId }) { return `${traceId} ${spanId}` }
