/** What our dispatchers do with a request before undici gets it. */

import * as undici from 'undici'
import { Call, kAttempt, kCall } from '../timing/call.js'
import { isInMemory } from '../wire/body.js'
import { withRereadableHeaders } from '../wire/headers.js'
import { encodeForm } from '../wire/multipart.js'
import { isUnchecked, refusal } from './content-length.js'
import { attemptHandler, AttemptNotes, callHandler, callsControllersWhenSent, isController, isTaken } from './handlers.js'
import { currentTimingId } from '../timing/id.js'

/** Where a dispatcher of ours keeps its config. Not a #field, because a composed dispatcher is a Proxy. */
export const kConfig = Symbol('onewrite config')
/** Where a Pool or Client keeps its origin, which is not in the options of its dispatches. */
export const kOrigin = Symbol('onewrite origin')
/** undici's own dispatch, of each class. */
export const kBase = Symbol('onewrite base dispatch')

/** @typedef {import('../timing/hooks.js').Hooks} Hooks */
/** @typedef {(opts: any, handler: any) => boolean} Dispatch */

/** Of undici 8, for handlers of the older style, which the fetch of Node 22 and 24 uses. @type {any} */
const legacy = /** @type {any} */ (undici).Dispatcher1Wrapper

/**
 * @param {any} self the dispatcher
 * @param {any} opts
 * @param {any} handler
 * @returns {boolean}
 */
function dispatchThrough (self, opts, handler) {
  const config = self[kConfig]
  const { hooks } = config
  // With a call, a dispatcher of ours above has done all of this.
  if (config.disabled || (hooks !== null && callOf(opts, handler) !== undefined)) return self[kBase](opts, handler)
  if (legacy !== undefined && typeof handler?.onRequestStart !== 'function' && typeof handler?.onConnect === 'function') {
    handler = legacy.wrapHandler(handler)
    opts = { ...opts, allowH2: false }
  }
  const form = !isInMemory(opts?.body) && !config.coalesceDisabled && opts.body instanceof undici.FormData
  const unchecked = isUnchecked(opts)
  if (form || unchecked) {
    try {
      opts = withRereadableHeaders(opts)
    } catch (error) {
      return refuse(handler, error)
    }
  }
  const refused = unchecked ? refusal(opts) : null
  if (form) opts = encodeForm(opts, config.coalesceMax)
  if (hooks !== null) return timedDispatch(self, hooks, opts, handler, refused)
  return refused === null ? self[kBase](opts, handler) : refuse(handler, refused)
}

/**
 * Adds to a dispatcher class what each of ours does with a request and with interceptors.
 * @template {new (...args: any[]) => undici.Dispatcher} T
 * @param {T} Base undici's class
 * @returns {T}
 */
export const withDispatch = (Base) => /** @type {any} */ (class extends /** @type {any} */ (Base) {
  /** @param {any} opts @param {any} handler @returns {boolean} */
  dispatch (opts, handler) { return dispatchThrough(this, opts, handler) }

  /** @param {any} opts @param {any} handler @returns {boolean} */
  [kBase] (opts, handler) { return super.dispatch(opts, handler) }

  /**
   * Above the user's interceptors comes one of ours: retries and redirects are attempts of one call.
   * @param {any[]} interceptors
   */
  compose (...interceptors) {
    const { timed } = /** @type {any} */ (this)[kConfig]
    return super.compose(timed ? [...interceptors.flat(), oneCall(this)] : interceptors.flat())
  }
})

/**
 * @param {any} self
 * @param {Hooks} hooks
 * @param {any} opts
 * @param {any} handler
 * @param {Error | null} refused why it is not sent
 * @returns {boolean}
 */
function timedDispatch (self, hooks, opts, handler, refused) {
  if (!isTaken(handler, opts)) return self[kBase](opts, handler)
  /** @type {Call | undefined} begun above; between there and here are retries or redirects */
  const above = opts?.[kCall]
  if (above !== undefined) above.nextAttempt()
  const call = above ?? startCall(self, hooks, opts, false)
  const timed = attemptHandler(handler, call, opts)
  if (refused !== null) return refuse(timed, refused)
  try {
    // undici 7 wraps a handler with a controller in one of its own, so there the options carry the call.
    return self[kBase](!callsControllersWhenSent && isController(handler) ? { ...opts, [kAttempt]: call } : opts, timed)
  } catch (error) {
    call.fail(error)
    throw error
  }
}

/**
 * An interceptor that makes all dispatches below it, for one dispatch above, attempts of one call.
 * @param {any} self the dispatcher below
 * @returns {(dispatch: Dispatch) => Dispatch}
 */
export function oneCall (self) {
  return (dispatch) => (opts, handler) => {
    const { hooks } = self[kConfig]
    if (hooks === null || opts?.[kCall] !== undefined || !isTaken(handler, opts)) return dispatch(opts, handler)
    const call = startCall(self, hooks, opts, true)
    const timed = callHandler(handler, call, opts)
    try {
      return dispatch({ ...opts, [kCall]: call }, timed)
    } catch (error) {
      call.end(error)
      throw error
    }
  }
}

/**
 * @param {any} self
 * @param {Hooks} hooks
 * @param {any} opts
 * @param {boolean} composed
 */
function startCall (self, hooks, opts, composed) {
  return new Call(hooks, currentTimingId(), opts?.method, urlOf(self[kOrigin] ?? opts?.origin, opts?.path), composed)
}

/**
 * @param {any} origin a string or a URL
 * @param {any} path of a request; a whole URL for a proxy that forwards, `host:port` for one that tunnels
 */
function urlOf (origin, path) {
  const text = origin instanceof URL ? origin.origin : String(origin ?? '')
  if (typeof path !== 'string' || path.startsWith('/')) return `${text}${path ?? ''}`
  return /^https?:\/\//.test(path) ? path : `${text}/${path}`
}

/**
 * @param {any} opts
 * @param {any} handler
 * @returns {Call | undefined} the call of which this dispatch is an attempt
 */
export function callOf (opts, handler) {
  return handler instanceof AttemptNotes ? handler.call : opts?.[kAttempt]
}

/**
 * The origin of a Pool or Client, in any of the forms that undici takes (undici lib/core/util.js, parseURL).
 * @param {any} url that undici has accepted
 * @returns {string}
 */
export function originOf (url) {
  if (typeof url === 'string' || url instanceof URL) return new URL(url).origin
  return new URL(url.origin ?? `${url.protocol}//${url.hostname}:${url.port ?? ''}`).origin
}

/**
 * Passes an error to the handler as undici passes an invalid argument.
 * @param {any} handler
 * @param {any} error
 * @returns {false}
 */
function refuse (handler, error) {
  if (typeof handler?.onResponseError === 'function') handler.onResponseError(null, error)
  else if (typeof handler?.onError === 'function') handler.onError(error)
  else throw error
  return false
}
