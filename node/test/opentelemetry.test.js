// onewrite/opentelemetry on the real SDK with the real instrumentations, in both orders. Each program is its own process
// (support/otel-program.js) and is compared with the same program over stock undici and node:http.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { context, metrics, SpanKind, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as undici from 'undici'
import { Agent, hookFailures } from '../src/index.js'
import { openTelemetry } from '../src/opentelemetry/index.js'
import { until } from './support/record.js'
import { CLOSED_PORT, startServer } from './support/server.js'
import { modeOf, startTap } from './support/tap.js'

// `make tracers` runs a copy of the program beside newer versions of all of it.
const PROGRAM = process.env.ONEWRITE_OTEL_PROGRAM ?? fileURLToPath(new URL('support/otel-program.js', import.meta.url))
const NODE = process.env.ONEWRITE_OTEL_NODE ?? process.execPath
const OK = (body) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** Answers as the path says. `FINISH`, which the program sends on a socket of its own, ends the slow body. */
function answering () {
  /** @type {(socket: any) => void} */
  let begin = () => {}
  const begun = new Promise((resolve) => { begin = resolve })
  return (request) => answer(request, begun, begin)
}

function answer ({ head, socket }, begun, begin) {
  const [method, path] = head.split(' ')
  if (method === 'FINISH') return begun.then((slow) => slow.write(' body'))
  if (path === '/never') return
  if (path === '/missing') return socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
  if (path === '/close') return socket.end(OK('closing').replace('\r\n', '\r\nconnection: close\r\n'))
  if (path === '/slow-body') {
    socket.write(OK('slow body').slice(0, -5))
    return begin(socket)
  }
  socket.write(OK('ok'))
}

async function play (way, api, order) {
  const tap = await startTap({ answer: answering() })
  try {
    const { stdout, stderr } = await promisify(execFile)(NODE, [PROGRAM, way, api, order, tap.origin, `http://localhost:${CLOSED_PORT}`], { timeout: 60_000 })
    const told = JSON.parse(stdout.replaceAll(`localhost:${tap.port}`, 'HOST'))
    return { ...told, stderr, requests: tap.requests, port: tap.port }
  } finally {
    await tap.close()
  }
}

const ours = ([name]) => name.startsWith('onewrite.')
/** What differs between two runs of anything. */
const VARYING = ['server.port', 'network.peer.port', 'net.peer.port', 'network.peer.address', 'net.peer.ip']
const plain = ({ attributes }) => Object.fromEntries(Object.entries(attributes).filter((entry) => !ours(entry) && !VARYING.includes(entry[0])))
const sum = (points, pick = (point) => point.value) => points.reduce((total, point) => total + pick(point), 0)
const pointsOf = (metrics, name) => metrics.find((metric) => metric.name === name)?.points ?? []

for (const api of ['fetch', 'undici', 'http']) {
  describe(api, () => {
    /** Played once, for both orders. @type {Promise<any> | undefined} */
    let stock
    for (const order of ['onewrite-first', 'instrumentation-first']) {
      test(`${order}: spans and metrics`, async () => {
        const [wanted, told] = await Promise.all([stock ??= play('stock', api, 'instrumentation-first'), play('onewrite', api, order)])
        assert.equal(told.hookFailures, 0, told.stderr)

        // Results, spans and what reaches the server are as without onewrite.
        assert.deepEqual(told.results, wanted.results)
        assert.deepEqual(told.spans.map(({ name, kind, status }) => ({ name, kind, status })), wanted.spans.map(({ name, kind, status }) => ({ name, kind, status })))
        assert.deepEqual(told.spans.map(plain), wanted.spans.map(plain))
        const names = ({ head }) => head.split('\r\n').map((line, index) => index === 0 ? line : line.split(':')[0])
        // FINISH has a socket of its own, and may come before or after /slow-body.
        const sent = ({ requests }) => requests.map(names).filter(([first]) => !first.startsWith('FINISH'))
        assert.deepEqual(sent(told), sent(wanted))
        assert.equal(modeOf(told.requests.filter(({ head }) => head.includes('/judged')).map(({ segments }) => segments)), 1)

        // One span per call. The exporter's own request has none, and is not reported.
        const clients = told.spans.filter(({ kind }) => kind === 2)
        assert.equal(clients.length, 28)
        assert.equal(told.requests.filter(({ head }) => head.includes('/exported')).length, 1)

        // The span of the incoming request gets nothing.
        assert.deepEqual(told.spans.filter(({ kind }) => kind === 1).flatMap(({ attributes }) => Object.entries(attributes).filter(ours)), [])

        // Metrics.
        const server = { 'server.address': 'localhost', 'server.port': told.port }
        const wait = pointsOf(told.metrics, 'onewrite.wait.duration')
        assert.deepEqual(wait.map(({ attributes }) => attributes), [{ ...server, 'http.request.method': 'POST' }, { ...server, 'http.request.method': 'GET' }])
        assert.equal(wait[0].value.count, 21)
        assert.ok(wait[0].value.buckets.boundaries.includes(0.035))
        assert.equal(sum(pointsOf(told.metrics, 'onewrite.requests')), 27)
        const reused = told.records.filter(({ url, reused }) => reused && !url.endsWith('/exported')).length
        assert.ok(reused >= 22)
        assert.equal(sum(pointsOf(told.metrics, 'onewrite.requests').filter(({ attributes }) => attributes['onewrite.reused'])), reused)
      })
    }
  })
}

describe('in this process, without instrumentations', () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const [spans, numbers] = [new InMemorySpanExporter(), new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)]
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }))
  const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 2 ** 30 })
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  const tracer = trace.getTracer('test')
  const report = openTelemetry()

  async function withAgent (run) {
    const server = await startServer((socket) => socket.write(OK('ok')))
    /** @type {any[]} */
    const records = []
    const agent = new Agent({ connections: 1, onTiming (record) { records.push(record); report(record) } })
    const send = async (count = 1) => {
      assert.equal(await (await undici.fetch(server.origin, { dispatcher: agent })).text(), 'ok')
      await until(() => records.length === count)
    }
    try {
      await run(send, records)
    } finally {
      await agent.destroy()
      await server.close()
      spans.reset()
    }
  }

  for (const kind of [SpanKind.INTERNAL, SpanKind.CLIENT, SpanKind.SERVER, SpanKind.CONSUMER]) {
    const isOurs = kind === SpanKind.INTERNAL || kind === SpanKind.CLIENT
    test(`a span of kind ${SpanKind[kind]} that still records ${isOurs ? 'gets the phases, also of fetch and on a reused connection' : 'is left as it is'}`, () => withAgent(async (send, records) => {
      await send()
      await tracer.startActiveSpan('own', { kind }, async (span) => {
        await send(2)
        span.end()
      })
      const [{ attributes }] = spans.getFinishedSpans()
      const { waitNs, totalNs, connId } = records[1]
      if (!isOurs) return assert.deepEqual(attributes, {})
      assert.deepEqual([attributes['onewrite.wait_ns'], attributes['onewrite.total_ns'], attributes['onewrite.conn_id'], attributes['onewrite.reused']], [waitNs, totalNs, connId, true])
    }))
  }

  test('metrics name the methods of the contract; one of one\'s own makes no time series', async () => {
    const events = readFileSync(new URL('../../spec/events.yaml', import.meta.url), 'utf8')
    const known = /^ {2}methods: \[(.*)\]/m.exec(events)[1].split(', ')
    for (const method of [...known, 'BREW', 'WHEN', 'get']) report(/** @type {any} */ ({ method, waitNs: 1, url: 'http://methods/' }))
    numbers.reset()
    await reader.forceFlush()
    const all = numbers.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics).flatMap((scope) => scope.metrics).map(({ descriptor, dataPoints }) => ({ name: descriptor.name, points: dataPoints }))
    const points = pointsOf(all, 'onewrite.wait.duration').filter(({ attributes }) => attributes['server.address'] === 'methods')
    const counts = Object.fromEntries(points.map(({ attributes, value }) => [attributes['http.request.method'], value.count]))
    assert.deepEqual(counts, { ...Object.fromEntries(known.map((method) => [method, 1])), _OTHER: 3 })
  })

  test('an error in the SDK counts as a hook that throws, and the request goes on', () => withAgent(async (send) => {
    const before = hookFailures()
    const faulty = Object.assign(tracer.startSpan('faulty'), { setAttributes () { throw new Error('faulty') } })
    await context.with(trace.setSpan(context.active(), faulty), send)
    await until(() => hookFailures() > before)
    assert.equal(hookFailures(), before + 1)
  }))
})
