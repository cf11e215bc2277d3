/** Timing records in the terms of OpenTelemetry, W3C Resource Timing and HAR, without a dependency on any of them. */

import { redactUrl } from './redact.js'

/** @typedef {import('./record.js').Attempt} Attempt */
/** @typedef {import('./record.js').Timing} Timing */

/**
 * Attributes of an HTTP client span (OpenTelemetry semantic conventions for HTTP, stable names).
 * `error.type` is the error kind, or the status as text from 400 on. `http.request.resend_count` is present after a retry
 * or a redirect.
 * @param {Timing} timing
 * @returns {Record<string, string | number>}
 */
export function otelAttributes (timing) {
  const full = redactUrl(timing.url)
  /** @type {Record<string, string | number>} */
  const found = { 'http.request.method': timing.method, 'url.full': full }
  const url = URL.canParse(full) ? new URL(full) : null
  if (url !== null) {
    found['server.address'] = url.hostname.replace(/^\[|\]$/g, '')
    found['server.port'] = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  }
  if (timing.status !== undefined) found['http.response.status_code'] = timing.status
  if (timing.attempts.length > 1) found['http.request.resend_count'] = timing.attempts.length - 1
  if (timing.errorKind !== undefined) found['error.type'] = timing.errorKind
  else if (timing.status !== undefined && timing.status >= 400) found['error.type'] = String(timing.status)
  return found
}

const PHASES = /** @type {const} */ (['queue', 'dns', 'connect', 'tls', 'send', 'wait', 'receive', 'server', 'network'])

/**
 * What the semantic conventions have no name for, under names of this package: the phases of the last attempt, its
 * connection, the number of attempts, and the duration of the call. Times are in ns. What is absent in the record is
 * absent here.
 * @param {Timing} timing
 * @returns {Record<string, string | number | boolean>}
 */
export function otelPhases (timing) {
  const { last } = timing
  /** @type {Record<string, string | number | boolean>} */
  const found = {}
  const put = (/** @type {string} */ name, /** @type {string | number | boolean | undefined} */ value) => {
    if (value !== undefined) found[`onewrite.${name}`] = value
  }
  for (const phase of PHASES) put(`${phase}_ns`, last?.[`${phase}Ns`])
  put('total_ns', timing.totalNs)
  put('reused', last?.reused)
  put('conn_id', last?.connId)
  put('conn_requests', last?.connRequests)
  put('attempts', timing.attempts.length)
  return found
}

/**
 * Metrics by name, in seconds. `http.client.request.duration` is that of the last attempt: from its start to the first byte
 * of the final response, or to its end where there was none. `http.client.request.time_in_queue` is a name of .NET.
 * @param {Timing} timing
 * @returns {Record<string, number>}
 */
export function otelMetrics (timing) {
  const { last } = timing
  const durationNs = last?.responseStartMonoNs === undefined ? (last ?? timing).totalNs : last.responseStartMonoNs - last.startedAtMonoNs
  /** @type {Record<string, number>} */
  const found = { 'http.client.request.duration': Math.max(durationNs, 1) / 1e9 }
  if (timing.queueNs !== undefined) found['http.client.request.time_in_queue'] = timing.queueNs / 1e9
  return found
}

/**
 * A PerformanceResourceTiming entry of the last attempt (W3C Resource Timing), in ms from the start of the call.
 * Steps that did not happen have the time of `fetchStart`, as in the standard; `secureConnectionStart` is 0 without TLS.
 * A time that was not reached is 0.
 * @param {Timing} timing
 */
export function resourceTiming (timing) {
  const { last } = timing
  const at = (/** @type {number | undefined} */ ns) => ns === undefined ? 0 : (ns - timing.startedAtMonoNs) / 1e6
  const fetchStart = at(last?.startedAtMonoNs)
  // The steps of a connection follow the queue; each begins where the one before it ended.
  let end = (last?.startedAtMonoNs ?? 0) + (last?.queueNs ?? 0)
  /** @type {(ns: number | undefined) => [number, number]} */
  const step = (ns) => ns === undefined ? [fetchStart, fetchStart] : [at(end), at(end += ns)]
  const [domainLookupStart, domainLookupEnd] = step(last?.dnsNs)
  const [connectStart, connectEnd] = step(last?.connectNs)
  const [tlsStart, tlsEnd] = step(last?.tlsNs)
  const isTls = last?.tlsNs !== undefined
  return {
    name: redactUrl(timing.url),
    entryType: 'resource',
    startTime: 0,
    fetchStart,
    domainLookupStart,
    domainLookupEnd,
    connectStart,
    secureConnectionStart: isTls ? tlsStart : 0,
    connectEnd: isTls ? tlsEnd : connectEnd,
    requestStart: at(last?.requestStartMonoNs),
    responseStart: at(last?.responseStartMonoNs),
    responseEnd: last?.receiveNs === undefined ? 0 : at((last.responseStartMonoNs ?? 0) + last.receiveNs),
    duration: timing.totalNs / 1e6,
    responseStatus: timing.status ?? 0,
    encodedBodySize: last?.bytesReceived ?? 0,
    nextHopProtocol: 'http/1.1',
    ...(timing.serverTiming === undefined ? null : { serverTiming: timing.serverTiming.map(serverTimingEntry) })
  }
}

/** @param {import('./server-timing.js').ServerTiming} entry */
function serverTimingEntry ({ name, durationNs = 0, description = '' }) {
  return { name, duration: durationNs / 1e6, description }
}

/**
 * `timings` and the times of an HAR 1.2 entry of the last attempt, in ms; -1 for what did not happen.
 * HAR counts TLS in `connect` as well as in `ssl`.
 * @param {Timing} timing
 */
export function harTimings (timing) {
  const ms = (/** @type {number | undefined} */ ns) => ns === undefined ? -1 : ns / 1e6
  const { queueNs, dnsNs, connectNs, tlsNs, sendNs, waitNs, receiveNs } = timing
  return {
    startedDateTime: new Date(timing.startedAtUnixNs / 1e6).toISOString(),
    time: timing.totalNs / 1e6,
    timings: {
      blocked: ms(queueNs),
      dns: ms(dnsNs),
      connect: ms(connectNs === undefined ? undefined : connectNs + (tlsNs ?? 0)),
      ssl: ms(tlsNs),
      send: ms(sendNs),
      wait: ms(waitNs),
      receive: ms(receiveNs)
    }
  }
}
