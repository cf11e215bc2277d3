/**
 * Calls the user's hooks: a callback for the finished record and a listener for single events. Whatever a hook throws,
 * and the rejection of a promise that it returns, is swallowed, counted and reported once; the request goes on.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { types } from 'node:util'
import { invalidOption } from '../errors.js'
import { EVENTS } from './events.js'

/** @typedef {import('./events.js').TimingListener} TimingListener */

/**
 * @typedef {object} HookOptions
 * @property {(timing: import('./record.js').Timing) => unknown} [onTiming] called once per call, with the finished
 *   record
 * @property {TimingListener} [listener] called for each event, in order
 */

/**
 * Gets more of a call than its events: the OpenTelemetry part of this package. A listener has a function under
 * kObserver that is called when a call begins, and returns this, or null to ignore the call.
 * @typedef {object} Observed
 * @property {(run: () => boolean) => boolean} within calls `run`, which makes undici's request of an attempt
 * @property {(timing: import('./record.js').Timing) => void} progress more is known of the running attempt
 * @property {(timing: import('./record.js').Timing) => void} end the call has ended
 */

/** @typedef {(news: any) => unknown} Hook */

export const kObserver = Symbol('onewrite observer')

/** null before the first id. @type {AsyncLocalStorage<string | number> | null} */
export let timingIds = null

/**
 * Runs `run` so that each call started in it has `id` in its timing record and events.
 * It finds the record of one `fetch()` or one axios call among many. The id follows the asynchronous context, so
 * redirect hops and retries of the same call have it too.
 * @template T @param {string | number} id
 * @param {() => T} run
 * @returns {T} what `run` returns
 */
export function withTimingId (id, run) {
  timingIds ??= new AsyncLocalStorage()
  return timingIds.run(id, run)
}

let failures = 0
/** `hooksDisabled` was given to `install()`: no request that begins calls a hook. */
let off = false
/** A hook is on the stack. */
let running = false
/** Holds true in what a hook does after it has returned a promise. @type {AsyncLocalStorage<boolean> | null} */
let afterwards = null

/** @param {boolean} now */
export function switchHooksOff (now) { off = now }

/**
 * @param {{hooks: Hooks | null}} config
 * @returns {Hooks | null} for a request that begins; null: there are none. A request that a hook makes calls no hook:
 *   an exporter would never end.
 */
export function hooksOf ({ hooks }) {
  if (off || hooks === null) return null
  return running || (afterwards !== null && afterwards.getStore() === true) ? NO_HOOKS : hooks
}

/** @returns {number} how many hooks have failed in this process */
export function hookFailures () { return failures }

/** Cannot throw: `error` may be any value, also one whose every property throws. @param {unknown} error */
function swallow (error) {
  if (failures++ > 0) return
  let reason = 'a value that cannot be shown'
  try {
    reason = error instanceof Error ? String(error.stack) : String(error)
  } catch {}
  try {
    process.emitWarning(`a timing hook failed; this is reported once: ${reason}`, { code: 'ONEWRITE_HOOK_FAILED' })
  } catch {}
}

/**
 * @param {() => unknown} run what it throws counts as the hook's
 * @returns {boolean} it runs when the present hook has returned; false: there is none, and it does not run
 */
export function afterHook (run) {
  if (running) setImmediate(safely, run)
  return running
}

/** @template T @param {() => T} run @returns {T | undefined} undefined when it threw */
export function safely (run) {
  try {
    return run()
  } catch (error) {
    swallow(error)
    return undefined
  }
}

/** @param {Hook[]} hooks @param {any} news an event, or the record */
export function callHooks (hooks, news) {
  const before = running
  running = true
  for (const hook of hooks) {
    try {
      const result = afterwards === null ? hook(news) : afterwards.run(true, hook, news)
      if (typeof result === 'object' && result !== null) {
        afterwards ??= new AsyncLocalStorage()
        Promise.resolve(result).then(undefined, swallow)
      }
    } catch (error) {
      swallow(error)
    }
  }
  running = before
}

/** @param {any} method @returns {any} the same */
function noticed (method) {
  if (types.isAsyncFunction(method)) afterwards ??= new AsyncLocalStorage()
  return method
}

/**
 * By event, who gets it, in order; null: nobody. Then the event is not made, and the clock is not read for it.
 * @param {any[]} listeners
 * @returns {Record<import('./events.js').EventName, Hook[] | null> | null} null: there are no listeners
 */
function receiversOf (listeners) {
  if (listeners.length === 0) return null
  return /** @type {any} */ (Object.fromEntries(EVENTS.map((name) => {
    const own = `on${name[0]?.toUpperCase()}${name.slice(1)}`
    const hooks = listeners.flatMap((listener) => [listener[own], listener.onEvent]
      .filter((method) => method !== undefined).map(noticed)
      .map((method) => (/** @type {any} */ event) => method.call(listener, event)))
    return [name, hooks.length === 0 ? null : hooks]
  })))
}

export class Hooks {
  /** @param {Hook[]} timings @param {any[]} listeners */
  constructor (timings, listeners) {
    this.timings = timings
    this.listeners = listeners
    this.receivers = receiversOf(listeners)
    /** One for a call is enough. @type {(() => Observed | null) | undefined} */
    this.observer = listeners.map((listener) => listener[kObserver]).find(Boolean)
  }
}

/**
 * @param {HookOptions} options @param {import('../config.js').Config} config
 * @returns {Hooks | null} null without a hook: then no clock is read and nothing is allocated
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function resolveHooks (options, config) {
  const { onTiming = null, listener = null } = options
  if (onTiming !== null && typeof onTiming !== 'function') throw invalidOption('onTiming must be a function')
  if (listener !== null && typeof listener !== 'object') {
    throw invalidOption('listener must be an object with methods such as onCallEnd')
  }
  if (config.disabled || config.hooksDisabled || (onTiming === null && listener === null)) return null
  return new Hooks(onTiming === null ? [] : [noticed(onTiming)], listener === null ? [] : [listener])
}

/** Of a request that a hook makes. */
export const NO_HOOKS = new Hooks([], [])

/** @param {Hooks[]} several @returns {Hooks | null} that calls the hooks of all, in order; null: there are none */
export function mergeHooks (several) {
  if (several.length < 2) return several[0] ?? null
  return new Hooks(several.flatMap(({ timings }) => timings), several.flatMap(({ listeners }) => listeners))
}
