/**
 * Adds to what OpenTelemetry's instrumentations record: `install({ listener: openTelemetry() })`. Needs
 * `@opentelemetry/api`, and before its version 1.10 also `@opentelemetry/api-logs`. Without an SDK nothing is recorded.
 */

import { createContextKey, SpanKind, trace } from '@opentelemetry/api'
import { kObserver } from '../timing/hooks.js'
import { otelAttributes, otelPhases } from './attributes.js'
import { activeContext, CallContext } from './call-context.js'
import { logger, recordMetrics } from './metrics.js'

/** @typedef {import('@opentelemetry/api').Context} Context */
/** @typedef {import('@opentelemetry/api').Span} Span */
/** @typedef {import('../timing/hooks.js').Observed} State */
/** @typedef {import('../timing/record.js').Timing} Timing */

/** The SDK sets it around requests of an exporter. Recording an exporter's requests would loop. */
const SUPPRESSED = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING')
/** Spans of the work that makes the request; it may make many requests, so such a span gets no attributes of one. */
const NOT_OURS = new Set([SpanKind.SERVER, SpanKind.CONSUMER])
const INFO = 9

/** The span and the context of one call while it runs. @implements {State} */
class Observed {
  #logs

  /** @param {Context} context that is active where the call begins @param {boolean} logs its record is logged */
  constructor (context, logs) {
    this.context = context
    this.span = trace.getSpan(context)
    this.#logs = logs
  }

  /** @param {boolean} logs @returns {Observed | null} for a call that begins; null: it is ignored */
  static begin (logs) {
    const context = activeContext()
    return context.getValue(SUPPRESSED) === true ? null : new Observed(context, logs)
  }

  /** @param {Span} span that an instrumentation has made of an attempt of this call */
  setSpan (span) {
    this.span = span
    if (trace.isSpanContextValid(span.spanContext())) this.context = trace.setSpan(this.context, span)
  }

  /** @returns {Span | null} the span that gets attributes; null when it has ended or is not of a client */
  get #writable () {
    const { span } = this
    return span?.isRecording() && !NOT_OURS.has(/** @type {any} */ (span).kind) ? span : null
  }

  /** Runs what makes undici's request; instrumentations make their span in it. @param {() => boolean} run */
  within (run) { return CallContext.run((span) => this.setSpan(span), run) }

  /** Writes what is known of the running attempt, because instrumentations end their span before the call ends. */
  progress (/** @type {Timing} */ timing) {
    const span = this.#writable
    if (span === null) return
    const { 'onewrite.total_ns': total, ...known } = otelPhases(timing)
    span.setAttributes(known)
  }

  end (/** @type {Timing} */ timing) {
    const phases = otelPhases(timing)
    const attributes = otelAttributes(timing)
    this.#writable?.setAttributes(phases)
    recordMetrics(timing, attributes, this.context)
    const log = this.#logs ? logger() : undefined
    if (log === undefined) return
    const endNs = timing.startedAtUnixNs + timing.totalNs
    log.emit({
      eventName: 'onewrite.request',
      severityNumber: INFO,
      severityText: 'INFO',
      timestamp: [Math.floor(endNs / 1e9), endNs % 1e9],
      context: this.context,
      attributes: { ...attributes, ...phases },
      body: timing.toJSON()
    })
  }
}

/**
 * @typedef {object} OpenTelemetryOptions
 * @property {boolean} [logs] whether each call's record is emitted as a log event `onewrite.request`. Default: true.
 */

/**
 * A listener for `install()` and for the classes of this package. The span that an instrumentation makes of a request
 * gets the request's phases as `onewrite.*` attributes until it ends, the record is emitted as a log event with that
 * span's context, and two metrics count requests and their waits. No span is made here.
 * @param {OpenTelemetryOptions} [options]
 * @returns {import('../timing/hooks.js').TimingListener}
 */
export function openTelemetry ({ logs = true } = {}) {
  return /** @type {any} */ ({ [kObserver]: () => Observed.begin(logs) })
}
