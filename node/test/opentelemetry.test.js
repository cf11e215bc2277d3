// onewrite/opentelemetry on the real SDK with the real instrumentations, in both orders. Each program is its own process
// (support/otel-program.js) and is compared with the same program over stock undici and node:http.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { context, metrics, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import { logs } from '@opentelemetry/api-logs'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemoryLogRecordExporter, LoggerProvider, SimpleLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import * as undici from 'undici'
import { Agent, hookFailures, RetryAgent } from '../src/index.js'
import { CallContext } from '../src/opentelemetry/call-context.js'
import { openTelemetry } from '../src/opentelemetry/index.js'
import { recordMetrics } from '../src/opentelemetry/metrics.js'
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
      test(`${order}: spans, log events and metrics`, async () => {
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

        // One span per call, and each log event has the ids of its span. The exporter's own call appears nowhere.
        const clients = told.spans.filter(({ kind }) => kind === 2)
        assert.equal(clients.length, 28)
        assert.equal(told.requests.filter(({ head }) => head.includes('/exported')).length, 1)
        assert.deepEqual(told.events.map(({ ids }) => ids).sort(), clients.map(({ ids }) => ids).sort())
        for (const { name, severity, scope, attributes, body, at } of told.events) {
          assert.deepEqual([name, severity, scope.name], ['onewrite.request', 'INFO', 'onewrite'])
          assert.equal(attributes['http.request.method'], body.method)
          assert.equal(attributes['onewrite.total_ns'], body.total_ns)
          assert.ok(Math.abs(at[0] * 1e9 + at[1] - body.started_at_unix_ns - body.total_ns) < 1024)
        }

        // The span has the phases, with the values of the record.
        const byIds = new Map(told.events.map((event) => [event.ids, event]))
        for (const { attributes, ids, name } of clients) {
          const { body } = byIds.get(ids)
          const last = body.attempts.at(-1)
          const found = Object.fromEntries(Object.entries(attributes).filter(ours))
          if (last.conn_id === undefined) continue
          assert.equal(found['onewrite.conn_id'], last.conn_id, name)
          assert.equal(found['onewrite.reused'], last.reused)
          assert.equal(found['onewrite.conn_requests'], last.conn_requests)
          if (body.outcome !== 'ok') continue
          for (const phase of ['queue', 'connect', 'send', 'wait']) assert.equal(found[`onewrite.${phase}_ns`], last[`${phase}_ns`], phase)
        }
        // The span of the incoming request gets nothing.
        assert.deepEqual(told.spans.filter(({ kind }) => kind === 1).flatMap(({ attributes }) => Object.entries(attributes).filter(ours)), [])

        // Metrics.
        const server = { 'server.address': 'localhost', 'server.port': told.port }
        const wait = pointsOf(told.metrics, 'onewrite.wait.duration')
        assert.deepEqual(wait.map(({ attributes }) => attributes), [{ ...server, 'http.request.method': 'POST' }, { ...server, 'http.request.method': 'GET' }])
        assert.equal(wait[0].value.count, 21)
        assert.ok(wait[0].value.buckets.boundaries.includes(0.035))
        assert.equal(sum(pointsOf(told.metrics, 'onewrite.requests')), 27)
        const reused = told.events.filter(({ body }) => body.reused).length
        assert.ok(reused >= 22)
        assert.equal(sum(pointsOf(told.metrics, 'onewrite.requests').filter(({ attributes }) => attributes['onewrite.reused'])), reused)
      })
    }
  })
}

describe('in this process, without instrumentations', () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const [spans, events, numbers] = [new InMemorySpanExporter(), new InMemoryLogRecordExporter(), new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)]
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }))
  logs.setGlobalLoggerProvider(new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter: events })] }))
  const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 2 ** 30 })
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  const tracer = trace.getTracer('test')

  async function withAgent (listener, run, onData = (socket) => socket.write(OK('ok'))) {
    const server = await startServer(onData)
    const agent = new Agent({ connections: 1, listener })
    try {
      await run(agent, server.origin)
    } finally {
      await agent.destroy()
      await server.close()
      spans.reset()
      events.reset()
      numbers.reset()
    }
  }
  const send = async (agent, origin, method = 'GET') => (await undici.request(origin, { dispatcher: agent, method: /** @type {any} */ (method) })).body.text()
  const names = async () => {
    numbers.reset()
    await reader.forceFlush()
    return numbers.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics).flatMap((scope) => scope.metrics)
  }

  test('a span that the program made gets every attribute, up to the end of the call', () => withAgent(openTelemetry(), async (agent, origin) => {
    await tracer.startActiveSpan('own', async (span) => {
      await send(agent, origin)
      await until(() => events.getFinishedLogRecords().length === 1)
      span.end()
    })
    const [{ attributes }] = spans.getFinishedSpans()
    const [event] = events.getFinishedLogRecords()
    const phases = Object.fromEntries(Object.entries(event.attributes).filter(ours))
    assert.ok(phases['onewrite.receive_ns'] > 0 && phases['onewrite.total_ns'] > 0)
    assert.deepEqual(attributes, phases)
  }))

  test('a retry overwrites the attributes of the attempt before it', () => {
    let count = 0
    return withAgent(openTelemetry(), async (agent, origin) => {
      await tracer.startActiveSpan('own', async (span) => {
        await (await undici.request(origin, { dispatcher: new RetryAgent(agent, { minTimeout: 1 }) })).body.text()
        await until(() => events.getFinishedLogRecords().length === 1)
        span.end()
      })
      const [{ attributes }] = spans.getFinishedSpans()
      assert.equal(attributes['onewrite.attempts'], 2)
      assert.equal(attributes['onewrite.reused'], true)
      // OpenTelemetry cannot remove an attribute.
      assert.ok(attributes['onewrite.connect_ns'] > 0)
    }, (socket) => socket.write(count++ === 0 ? 'HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n' : OK('ok')))
  })

  test('the listener can be combined with one\'s own methods', () => {
    const ends = []
    return withAgent({ ...openTelemetry(), onCallEnd: (event) => ends.push(event.outcome) }, async (agent, origin) => {
      await send(agent, origin)
      await until(() => events.getFinishedLogRecords().length === 1)
      assert.deepEqual(ends, ['ok'])
      assert.equal(events.getFinishedLogRecords().length, 1)
    })
  })

  for (const kind of [SpanKind.SERVER, SpanKind.CONSUMER]) {
    test(`a span of kind ${SpanKind[kind]} is left as it is, and the event has its ids`, () => withAgent(openTelemetry(), async (agent, origin) => {
      await tracer.startActiveSpan('incoming', { kind }, async (span) => {
        await send(agent, origin)
        span.end()
      })
      await until(() => events.getFinishedLogRecords().length === 1)
      const [span] = spans.getFinishedSpans()
      assert.deepEqual(span.attributes, {})
      assert.equal(events.getFinishedLogRecords()[0].spanContext.spanId, span.spanContext().spanId)
    }))
  }

  test('logs: false, and an unknown method', () => withAgent(openTelemetry({ logs: false }), async (agent, origin) => {
    await send(agent, origin, 'PROPFIND')
    const isOther = ({ attributes }) => attributes['http.request.method'] === '_OTHER'
    let found = pointed(await names())
    for (let look = 0; look < 1000 && !pointsOf(found, 'onewrite.wait.duration').some(isOther); look++) {
      await new Promise((resolve) => setImmediate(resolve))
      found = pointed(await names())
    }
    assert.equal(events.getFinishedLogRecords().length, 0)
    assert.ok(pointsOf(found, 'onewrite.wait.duration').some(isOther))
  }))

  test('metrics name the methods of the contract; one of one\'s own makes no time series', async () => {
    const events = readFileSync(new URL('../../spec/events.yaml', import.meta.url), 'utf8')
    const known = /^ {2}methods: \[(.*)\]/m.exec(events)[1].split(', ')
    for (const method of [...known, 'BREW', 'WHEN', 'get']) {
      recordMetrics(/** @type {any} */ ({ method, attempts: [{ waitNs: 1 }] }), { 'server.address': 'methods' }, ROOT_CONTEXT)
    }
    const points = pointsOf(pointed(await names()), 'onewrite.wait.duration').filter(({ attributes }) => attributes['server.address'] === 'methods')
    const counts = Object.fromEntries(points.map(({ attributes, value }) => [attributes['http.request.method'], value.count]))
    assert.deepEqual(counts, { ...Object.fromEntries(known.map((method) => [method, 1])), _OTHER: 3 })
  })

  test('an error in the SDK counts as a hook that throws, and the request goes on', () => withAgent(openTelemetry(), async (agent, origin) => {
    const before = hookFailures()
    const faulty = Object.assign(tracer.startSpan('faulty'), { setAttributes () { throw new Error('faulty') } })
    await context.with(trace.setSpan(context.active(), faulty), async () => assert.equal(await send(agent, origin), 'ok'))
    await until(() => hookFailures() > before)
    assert.ok(hookFailures() > before)
  }))

  test('the context of a request takes no span that is set later, and contexts do not nest', () => {
    let span
    const onSpan = (each) => { span = each }
    const [first, later] = [tracer.startSpan('first'), tracer.startSpan('later')]
    let inherited
    CallContext.run(onSpan, () => {
      inherited = context.active()
      trace.setSpan(context.active(), first)
    })
    assert.equal(span, first)
    trace.setSpan(inherited, later)
    assert.equal(span, first)
    context.with(inherited, () => CallContext.run(onSpan, () => assert.equal(/** @type {any} */ (context.active()).base, ROOT_CONTEXT)))
  })
})

/** @param {any[]} found */
function pointed (found) { return found.map(({ descriptor, dataPoints }) => ({ name: descriptor.name, points: dataPoints })) }
