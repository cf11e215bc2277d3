/**
 * Adds to what OpenTelemetry's instrumentations record: `install({ onTiming: openTelemetry() })`. Needs
 * `@opentelemetry/api`. Without an SDK nothing is recorded. No span is made.
 */

import { context, createContextKey, metrics, SpanKind, trace } from '@opentelemetry/api'
import { VERSION } from '../version.js'

/** @typedef {import('@opentelemetry/api').Attributes} Attributes */
/** @typedef {import('../timing/record.js').TimingRecord} TimingRecord */

/** The SDK sets it around requests of an exporter, which are not to be counted. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')
/** Spans of the work that makes a request. It may make many, so such a span gets no attributes of one. */
const NOT_OURS = new Set([SpanKind.SERVER, SpanKind.CONSUMER])
/** Attributes of a span, under these names after `onewrite.`. */
const OF_SPAN = /** @type {const} */ (['queueNs', 'dnsNs', 'connectNs', 'tlsNs', 'sendNs', 'waitNs', 'receiveNs',
  'totalNs', 'reused', 'connId', 'connRequests', 'proxy'])
/**
 * Bucket edges, s. A wait caused by Nagle's algorithm and a delayed acknowledgement takes 40 to 45 ms: hence 35 and
 * 50 ms.
 */
const WAIT = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Those of the semantic conventions. Any other is counted as `_OTHER`, because each makes a time series. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'])

/** @typedef {import('@opentelemetry/api').Histogram} Histogram */
/** @typedef {import('@opentelemetry/api').Counter} Counter */
/** @type {{provider: unknown, wait: Histogram, requests: Counter} | null} */
let instruments = null

/** Of the global provider. A program may start its SDK after it has called `openTelemetry()`. */
function currentInstruments () {
  const provider = metrics.getMeterProvider()
  if (instruments?.provider !== provider) {
    const meter = provider.getMeter('onewrite', VERSION)
    instruments = {
      provider,
      wait: meter.createHistogram('onewrite.wait.duration', {
        unit: 's',
        description: 'From the last byte of the request written to the first byte of the response read',
        advice: { explicitBucketBoundaries: WAIT }
      }),
      requests: meter.createCounter('onewrite.requests', {
        unit: '{request}', description: 'Requests that got a connection'
      })
    }
  }
  return instruments
}

/** @param {TimingRecord} record @returns {Attributes} */
function spanAttributes (record) {
  /** @type {Attributes} */
  const attributes = {}
  for (const name of OF_SPAN) {
    const key = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    if (record[name] !== undefined) attributes[`onewrite.${key}`] = record[name]
  }
  return attributes
}

/** @param {string | undefined} text @returns {Attributes} host and port of a URL */
function serverAttributes (text) {
  if (text === undefined || !URL.canParse(text)) return {}
  const { hostname, port, protocol } = new URL(text)
  return {
    'server.address': hostname.replace(/^\[|\]$/g, ''),
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80)
  }
}

/** @param {TimingRecord} record */
function report (record) {
  const active = context.active()
  if (active.getValue(SUPPRESSED) === true) return
  const span = /** @type {any} */ (trace.getSpan(active))
  if (span?.isRecording() && !NOT_OURS.has(span.kind)) span.setAttributes(spanAttributes(record))
  const { wait, requests } = currentInstruments()
  const server = serverAttributes(record.url)
  const { method, waitNs, reused } = record
  if (waitNs !== undefined) {
    wait.record(waitNs / 1e9, { ...server, 'http.request.method': METHODS.has(method) ? method : '_OTHER' }, active)
  }
  if (reused !== undefined) requests.add(1, { ...server, 'onewrite.reused': reused }, active)
}

/**
 * A hook for `install()` and for the classes of this package. The span in whose context a request was made gets the
 * request's phases as `onewrite.*` attributes, if it still records when the request is over and is not of a server or
 * consumer. Two metrics count requests and their waits: `onewrite.requests` and `onewrite.wait.duration`.
 * @returns {(record: TimingRecord) => void}
 */
export function openTelemetry () { return report }
