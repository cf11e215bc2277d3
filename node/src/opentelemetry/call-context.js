/**
 * How the span is found that an instrumentation makes of undici's request. It makes it while undici makes the request,
 * on the diagnostics channel `undici:request:create`, and never makes it the active one; but to propagate it, it derives
 * a context from the active one that has it (`trace.setSpan(context.active(), span)`). So the context that is active
 * while undici makes the request is one that notices what is derived from it.
 */

import { context, trace } from '@opentelemetry/api'

/** @typedef {import('@opentelemetry/api').Context} Context */
/** @typedef {import('./observer.js').Observed} Observed */

/** @implements {Context} */
export class CallContext {
  /** @type {Observed | null} null: undici's request is made. What inherits this context, as a new socket does, is no part of it. */
  #observed

  /** @param {Context} base @param {Observed} observed */
  constructor (base, observed) {
    this.base = base
    this.#observed = observed
  }

  /**
   * @template T
   * @param {Observed} observed
   * @param {() => T} run
   * @returns {T}
   */
  static run (observed, run) {
    const own = new CallContext(activeContext(), observed)
    try {
      return context.with(own, run)
    } finally {
      own.#observed = null
    }
  }

  /** @param {symbol} key */
  getValue (key) { return this.base.getValue(key) }

  /** @param {symbol} key @param {unknown} value @returns {Context} */
  setValue (key, value) {
    const derived = this.base.setValue(key, value)
    if (this.#observed !== null) {
      const span = trace.getSpan(derived)
      if (span !== undefined && span !== trace.getSpan(this.base)) this.#observed.found(span)
    }
    return derived
  }

  /** @param {symbol} key @returns {Context} */
  deleteValue (key) { return this.base.deleteValue(key) }
}

/** @returns {Context} never one of ours, on which the next would stand, and so on */
export function activeContext () {
  const active = context.active()
  return active instanceof CallContext ? active.base : active
}
