/** What Agent, Pool and ProxyAgent do with a request before undici gets it. */

import * as undici from 'undici'
import { tellsControllersOfSent } from '../base-version.js'
import { Call, kAttempt, kCall } from '../timing/call.js'
import { isFormData } from '../wire/body.js'
import { encodeForm } from '../wire/multipart.js'
import { refusal } from './content-length.js'
import { AttemptNotes, CallNotes, ControllerHandler, isTaken, timedHandler } from './handlers.js'
import { currentTimingId } from '../timing/id.js'

/** Where a dispatcher of ours keeps its settings; no #field, because a composed dispatcher is a Proxy. */
export const kSettings = Symbol('onewrite settings')
/** Where a Pool or Client keeps its origin, which is not in the options of its dispatches. */
export const kOrigin = Symbol('onewrite origin')
/** undici's own dispatch, of each class. */
export const kBase = Symbol('onewrite base dispatch')

/** @typedef {import('../timing/hooks.js').Hooks} Hooks */
/** @typedef {(opts: any, handler: any) => boolean} Dispatch */

/** undici 8 has it for handlers of the older style, as the fetch of Node 22 and 24 passes them. @type {any} */
const legacy = /** @type {any} */ (undici).Dispatcher1Wrapper

/**
 * @param {any} self the dispatcher
 * @param {any} opts
 * @param {any} handler
 * @returns {boolean}
 */
export function dispatchThrough (self, opts, handler) {
  const { config, hooks } = self[kSettings]
  // A dispatcher of ours above has done all of it.
  if (config.disabled || callOf(opts, handler) !== undefined) return self[kBase](opts, handler)
  if (legacy !== undefined && typeof handler?.onRequestStart !== 'function' && typeof handler?.onConnect === 'function') {
    handler = legacy.wrapHandler(handler)
    opts = { ...opts, allowH2: false }
  }
  if (!config.coalesceDisabled && isFormData(opts?.body)) opts = encodeForm(opts, config.coalesceMax)
  if (hooks !== null) return timedDispatch(self, hooks, opts, handler)
  const refused = refusal(opts)
  return refused === null ? self[kBase](opts, handler) : refuse(handler, refused)
}

/**
 * What every dispatcher of ours does with a request, and with interceptors.
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
   * With retries and redirects composed on it, a call is one record with an attempt for each try.
   * @param {any[]} interceptors
   */
  compose (...interceptors) { return super.compose(composed(this, interceptors)) }
})

/**
 * @param {any} self
 * @param {Hooks} hooks
 * @param {any} opts
 * @param {any} handler
 * @returns {boolean}
 */
function timedDispatch (self, hooks, opts, handler) {
  if (!isTaken(handler, opts)) return self[kBase](opts, handler)
  /** @type {Call | undefined} a call that was begun above, with retries or redirects between there and here */
  const above = opts?.[kCall]
  if (above !== undefined) above.nextAttempt()
  const call = above ?? startCall(self, hooks, opts, false)
  const timed = timedHandler(handler, new AttemptNotes(call, opts))
  const refused = refusal(opts)
  if (refused !== null) return refuse(timed, refused)
  try {
    // undici 7 puts a handler of its own around one with a controller, so there the options carry the call.
    return self[kBase](timed instanceof ControllerHandler && !tellsControllersOfSent() ? { ...opts, [kAttempt]: call } : opts, timed)
  } catch (error) {
    call.fail(error)
    throw error
  }
}

/**
 * The interceptors of a composed dispatcher, and around them one that makes what comes below, however often, one call.
 * @param {any} self
 * @param {any[]} interceptors
 * @returns {any[]}
 */
function composed (self, interceptors) {
  const { hooks } = self[kSettings]
  const all = interceptors.flat()
  return hooks === null ? all : [...all, oneCall(self, hooks)]
}

/**
 * Makes what is dispatched below, however often, one call.
 * @param {any} self the dispatcher below
 * @param {Hooks} hooks
 * @returns {(dispatch: Dispatch) => Dispatch}
 */
export function oneCall (self, hooks) {
  return (dispatch) => (opts, handler) => {
    if (opts?.[kCall] !== undefined || !isTaken(handler, opts)) return dispatch(opts, handler)
    const call = startCall(self, hooks, opts, true)
    const timed = timedHandler(handler, new CallNotes(call, opts))
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
 * @param {any} origin a string or an URL
 * @param {any} path of a request; whole for a proxy that forwards, `host:port` for one that tunnels
 */
function urlOf (origin, path) {
  const text = origin instanceof URL ? origin.origin : String(origin ?? '')
  if (typeof path !== 'string' || path.startsWith('/')) return `${text}${path ?? ''}`
  return /^https?:\/\//.test(path) ? path : `${text}/${path}`
}

/**
 * @param {any} opts
 * @param {any} handler
 * @returns {Call | undefined} the call whose attempt this dispatch is
 */
export function callOf (opts, handler) {
  return handler?.[kAttempt] ?? opts?.[kAttempt]
}

/**
 * The origin of a Pool or Client, in any of the forms that undici takes (undici lib/core/util.js, parseURL).
 * @param {any} url that undici has taken
 * @returns {string}
 */
export function originOf (url) {
  if (typeof url === 'string' || url instanceof URL) return new URL(url).origin
  return new URL(url.origin ?? `${url.protocol}//${url.hostname}:${url.port ?? ''}`).origin
}

/**
 * Tells the handler as undici tells it of an invalid argument.
 * @param {any} handler
 * @param {Error} error
 * @returns {false}
 */
function refuse (handler, error) {
  if (typeof handler?.onResponseError === 'function') handler.onResponseError(null, error)
  else if (typeof handler?.onError === 'function') handler.onError(error)
  else throw error
  return false
}
