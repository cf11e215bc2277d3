/**
 * The metrics and the log events, of the global providers. These are read again when another provider is set: a program
 * may start its SDK after it has called `openTelemetry()`, and a meter from before the SDK stays without effect.
 */

import { createRequire } from 'node:module'
import * as api from '@opentelemetry/api'
import { VERSION } from '../version.js'

/** @typedef {import('@opentelemetry/api').Attributes} Attributes */
/** @typedef {{emit: (record: Record<string, unknown>) => void}} Logger */

const SCOPE = 'onewrite'
/**
 * Bucket edges, s. A wait caused by Nagle's algorithm and a delayed acknowledgement takes 40 to 45 ms: hence 35 and 50
 * ms.
 */
const WAIT = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Those of the semantic conventions. Any other is counted as `_OTHER`, because each makes a time series. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'])

/** @type {{provider: unknown, wait: api.Histogram, requests: api.Counter} | null} */
let instruments = null

function currentInstruments () {
  const provider = api.metrics.getMeterProvider()
  if (instruments?.provider !== provider) {
    const meter = provider.getMeter(SCOPE, VERSION)
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

/**
 * @param {import('../timing/record.js').Timing} timing
 * @param {Attributes} attributes its `otelAttributes`
 * @param {import('@opentelemetry/api').Context} context
 */
export function recordMetrics (timing, attributes, context) {
  const { wait, requests } = currentInstruments()
  /** @type {Attributes} */
  const server = {}
  for (const name of ['server.address', 'server.port']) if (name in attributes) server[name] = attributes[name]
  const method = METHODS.has(timing.method) ? timing.method : '_OTHER'
  for (const { waitNs, reused } of timing.attempts) {
    if (waitNs !== undefined) wait.record(waitNs / 1e9, { ...server, 'http.request.method': method }, context)
    if (reused !== undefined) requests.add(1, { ...server, 'onewrite.reused': reused }, context)
  }
}

/**
 * @returns {any} the logs API: part of `@opentelemetry/api` from 1.10 on, another package before; undefined without it
 */
function findLogs () {
  const { logs } = /** @type {any} */ (api)
  if (logs !== undefined) return logs
  try {
    return createRequire(import.meta.url)('@opentelemetry/api-logs').logs
  } catch {
    // Then there is no SDK for log events either.
    return undefined
  }
}

const logs = findLogs()
/** @type {{provider: unknown, logger: Logger} | null} */
let logged = null

/** @returns {Logger | undefined} */
export function logger () {
  const provider = logs?.getLoggerProvider()
  if (provider !== undefined && logged?.provider !== provider) {
    logged = { provider, logger: provider.getLogger(SCOPE, VERSION) }
  }
  return logged?.logger
}
