/**
 * Adds to what OpenTelemetry's instrumentations record: `install({ listener: openTelemetry() })`. Needs
 * `@opentelemetry/api`, and before its version 1.10 also `@opentelemetry/api-logs`. Without an SDK nothing is recorded.
 */

import { kObserver } from '../timing/hooks.js'
import { Observed } from './observer.js'

/**
 * @typedef {object} OpenTelemetryOptions
 * @property {boolean} [logs] whether each call's record is emitted as a log event `onewrite.request`. Default: true.
 */

/**
 * A listener for `install()` and for the classes of this package. The span that an instrumentation makes of a request
 * gets the request's phases as `onewrite.*` attributes until it ends, the record is emitted as a log event with that
 * span's
 * context, and two metrics count requests and their waits. No span is made here.
 * @param {OpenTelemetryOptions} [options]
 * @returns {import('../timing/hooks.js').TimingListener}
 */
export function openTelemetry ({ logs = true } = {}) {
  return /** @type {any} */ ({ [kObserver]: () => Observed.begin(logs) })
}
