/**
 * Finds the span that an instrumentation makes of undici's request. The instrumentation makes it on the diagnostics
 * channel `undici:request:create` and never activates it. To propagate it, it derives a context that holds it from the
 * active one (`trace.setSpan(context.active(), span)`). So while undici makes the request, the active context notices
 * what is derived from it.
 */

import { context, trace } from '@opentelemetry/api'

/** @typedef {import('@opentelemetry/api').Context} Context */
/** Gets a span that is made. @typedef {(span: import('@opentelemetry/api').Span) => void} OnSpan */

/** @implements {Context} */
export class CallContext {
  /**
   * null once undici's request is made: what inherits this context later, as a new socket does, is not of it.
   * @type {OnSpan | null}
   */
  #onSpan

  /** @param {Context} base @param {OnSpan} onSpan */
  constructor (base, onSpan) {
    this.base = base
    this.#onSpan = onSpan
  }

  /** @template T @param {OnSpan} onSpan @param {() => T} run @returns {T} */
  static run (onSpan, run) {
    const own = new CallContext(activeContext(), onSpan)
    try {
      return context.with(own, run)
    } finally {
      own.#onSpan = null
    }
  }

  /** @param {symbol} key */
  getValue (key) { return this.base.getValue(key) }

  /** @param {symbol} key @param {unknown} value */
  setValue (key, value) {
    const derived = this.base.setValue(key, value)
    if (this.#onSpan !== null) {
      const span = trace.getSpan(derived)
      if (span !== undefined && span !== trace.getSpan(this.base)) this.#onSpan(span)
    }
    return derived
  }

  /** @param {symbol} key */
  deleteValue (key) { return this.base.deleteValue(key) }
}

/** @returns {Context} never one of ours: they must not nest */
export function activeContext () {
  const active = context.active()
  return active instanceof CallContext ? active.base : active
}
