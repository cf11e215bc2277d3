/**
 * The user's side of timing: one callback for the finished record, one listener for single events.
 * A hook that throws is swallowed, counted and reported once; the request goes on.
 */

import { invalidOption } from '../config.js'
import { Wants } from './events.js'

/** @typedef {import('./events.js').TimingEvent} TimingEvent */
/** @typedef {import('./events.js').TimingListener} TimingListener */

/**
 * @typedef {object} HookOptions
 * @property {(timing: import('./record.js').Timing) => void} [onTiming] called once per call, with the finished record
 * @property {TimingListener} [listener] called for each event, in order
 */

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

export class Hooks {
  /**
   * @param {HookOptions['onTiming'] | null} onTiming
   * @param {TimingListener | null} listener
   */
  constructor (onTiming, listener) {
    this.onTiming = onTiming
    this.listener = listener
    this.wants = new Wants(listener)
  }

  /**
   * @param {keyof TimingListener} method the event's own
   * @param {TimingEvent} event
   */
  event (method, event) {
    const listener = /** @type {TimingListener} */ (this.listener)
    try {
      listener[method]?.(event)
    } catch (error) {
      swallow(error)
    }
    try {
      listener.onEvent?.(event)
    } catch (error) {
      swallow(error)
    }
  }

  /** @param {import('./record.js').Timing} timing */
  timing (timing) {
    try {
      this.onTiming?.(timing)
    } catch (error) {
      swallow(error)
    }
  }
}

/**
 * @param {HookOptions} options
 * @param {import('../config.js').Config} config
 * @returns {Hooks | null} null where nothing is to be told: then no clock is read and nothing is allocated
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function resolveHooks (options, config) {
  const { onTiming = null, listener = null } = options
  if (onTiming !== null && typeof onTiming !== 'function') throw invalidOption('onTiming must be a function')
  if (listener !== null && typeof listener !== 'object') throw invalidOption('listener must be an object with methods such as onCallEnd')
  if (config.disabled || config.hooksDisabled || (onTiming === null && listener === null)) return null
  return new Hooks(onTiming, listener)
}
