/**
 * Calls the user's hooks: a callback for the finished record and a listener for single events.
 * What a hook throws is swallowed, counted and reported once; the request goes on.
 */

import { invalidOption } from '../config.js'
import { EVENTS, receiversOf } from './events.js'

/** @typedef {import('./events.js').TimingListener} TimingListener */

/**
 * @typedef {object} HookOptions
 * @property {(timing: import('./record.js').Timing) => void} [onTiming] called once per call, with the finished record
 * @property {TimingListener} [listener] called for each event, in order
 */

/**
 * Gets more of a call than its events: the OpenTelemetry part of this package. A listener has it under kObserver.
 * @typedef {object} CallObserver
 * @property {() => any} begin a call begins; returns what the other methods get as `kept`, or null to ignore this call
 * @property {(kept: any, run: () => boolean) => boolean} within calls `run`, which makes undici's request of an attempt
 * @property {(kept: any, call: import('./call.js').Call) => void} progress more is known of the running attempt
 * @property {(kept: any, timing: import('./record.js').Timing) => void} end the call has ended
 * @property {(connection: import('./connection.js').Connection) => void} opened the connection can carry requests
 * @property {(connection: import('./connection.js').Connection) => void} closed its socket is closed
 */

export const kObserver = Symbol('onewrite observer')

let failures = 0

/** @returns {number} how many hooks have thrown in this process */
export function hookFailures () {
  return failures
}

/** @param {unknown} error */
function swallow (error) {
  if (failures++ > 0) return
  const reason = error instanceof Error ? error.stack : String(error)
  process.emitWarning(`a timing hook threw; this is reported once: ${reason}`, { code: 'ONEWRITE_HOOK_FAILED' })
}

/**
 * @template T
 * @param {() => T} run
 * @returns {T | undefined} undefined when it threw
 */
function safely (run) {
  try {
    return run()
  } catch (error) {
    swallow(error)
    return undefined
  }
}

/**
 * @template T
 * @param {{listener?: TimingListener, method: (news: T) => void}[]} receivers
 * @param {T} news an event, or the record
 */
export function deliver (receivers, news) {
  for (const { listener, method } of receivers) {
    try {
      method.call(listener, news)
    } catch (error) {
      swallow(error)
    }
  }
}

const CONNECTION_EVENTS = EVENTS.slice(EVENTS.indexOf('queueEnd'), EVENTS.indexOf('requestStart'))

export class Hooks {
  /**
   * @param {{method: (timing: import('./record.js').Timing) => void}[]} timings
   * @param {TimingListener[]} listeners
   */
  constructor (timings, listeners) {
    this.timings = timings
    this.listeners = listeners
    this.receivers = receiversOf(listeners)
    /** @type {CallObserver[]} */
    this.observers = listeners.flatMap((listener) => /** @type {any} */ (listener)[kObserver] ?? [])
    /** Somebody gets one of the events with which a request gets its connection. */
    this.wantsConnection = CONNECTION_EVENTS.some((name) => this.receivers[name] !== null)
  }

  /** @returns {any[] | null} what each observer keeps of a call that begins; null: all ignore this call */
  begin () {
    const kept = this.observers.map((observer) => safely(() => observer.begin()) ?? null)
    return kept.some((one) => one !== null) ? kept : null
  }

  /**
   * @param {any[]} kept
   * @param {() => boolean} run
   * @returns {boolean} what `run` returns; it runs once, also when an observer throws
   */
  within (kept, run) {
    let begun = false
    const once = () => {
      begun = true
      return run()
    }
    try {
      return this.observers.reduceRight((inner, observer, index) => kept[index] === null ? inner : () => observer.within(kept[index], inner), once)()
    } catch (error) {
      if (begun) throw error
      swallow(error)
      return run()
    }
  }

  /**
   * @template {'progress' | 'end'} M
   * @param {M} method
   * @param {any[]} kept
   * @param {Parameters<CallObserver[M]>[1]} known
   */
  observe (method, kept, known) {
    for (const [index, observer] of this.observers.entries()) {
      if (kept[index] !== null) safely(() => observer[method](kept[index], /** @type {any} */ (known)))
    }
  }

  /** @param {'opened' | 'closed'} what @param {import('./connection.js').Connection} connection */
  connection (what, connection) { for (const observer of this.observers) safely(() => observer[what](connection)) }
}

/**
 * @param {HookOptions} options
 * @param {import('../config.js').Config} config
 * @returns {Hooks | null} null without a hook: then no clock is read and nothing is allocated
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function resolveHooks (options, config) {
  const { onTiming = null, listener = null } = options
  if (onTiming !== null && typeof onTiming !== 'function') throw invalidOption('onTiming must be a function')
  if (listener !== null && typeof listener !== 'object') throw invalidOption('listener must be an object with methods such as onCallEnd')
  if (config.disabled || config.hooksDisabled || (onTiming === null && listener === null)) return null
  return new Hooks(onTiming === null ? [] : [{ method: onTiming }], listener === null ? [] : [listener])
}

/**
 * @param {Hooks[]} several
 * @returns {Hooks | null} that calls the hooks of all, in order; null: there are none
 */
export function mergeHooks (several) {
  if (several.length < 2) return several[0] ?? null
  return new Hooks(several.flatMap(({ timings }) => timings), several.flatMap(({ listeners }) => listeners))
}
