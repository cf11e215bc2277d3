/** What Agent, Pool and ProxyAgent do with a request before undici gets it. */

import * as undici from 'undici'
import { tellsControllersOfSent } from './base.js'
import { refusal, refuse } from './floor.js'
import { encodeForm, isFormData } from './multipart.js'
import { Call, kCall } from './timing/call.js'
import { AttemptNotes, CallNotes, timedHandler } from './timing/handlers.js'
import { currentTimingId } from './timing/id.js'

/** Where a dispatcher of ours keeps its settings; no #field, because a composed dispatcher is a Proxy. */
export const kSettings = Symbol('onewrite settings')
/** undici's own dispatch, of each class. */
export const kBase = Symbol('onewrite base dispatch')

/** @typedef {import('./timing/hooks.js').Hooks} Hooks */
/** @typedef {(opts: any, handler: any) => boolean} Dispatch */

/** undici 8 has it for handlers of the older style, as the fetch of Node 22 and 24 passes them. @type {any} */
const legacy = /** @type {any} */ (undici).Dispatcher1Wrapper

/**
 * @param {any} self the dispatcher
 * @param {any} opts
 * @param {any} handler
 * @param {string} [origin] of a Pool
 * @returns {boolean}
 */
export function dispatchThrough (self, opts, handler, origin) {
  const { config, hooks } = self[kSettings]
  if (config.disabled) return self[kBase](opts, handler)
  if (legacy !== undefined && typeof handler?.onRequestStart !== 'function' && typeof handler?.onConnect === 'function') {
    handler = legacy.wrapHandler(handler)
    opts = { ...opts, allowH2: false }
  }
  if (!config.coalesceDisabled && isFormData(opts?.body)) opts = encodeForm(opts, config.coalesceMax)
  if (hooks !== null) return timedDispatch(self, hooks, opts, handler, origin ?? String(opts?.origin ?? ''))
  const refused = refusal(opts)
  return refused === null ? self[kBase](opts, handler) : refuse(handler, refused)
}

/**
 * @param {any} self
 * @param {Hooks} hooks
 * @param {any} opts
 * @param {any} handler
 * @param {string} origin
 * @returns {boolean}
 */
function timedDispatch (self, hooks, opts, handler, origin) {
  /** @type {Call | undefined} a call that was begun above, with retries or redirects between there and here */
  const above = opts?.[kCall]
  if (above !== undefined) above.nextAttempt()
  const call = above ?? startCall(hooks, opts, origin, false)
  const timed = timedHandler(handler, new AttemptNotes(call, opts))
  if (timed === null) return self[kBase](opts, handler)
  const refused = refusal(opts)
  if (refused !== null) return refuse(timed, refused)
  try {
    // undici 7 puts a handler of its own around one with a controller, so there the options carry the call.
    return self[kBase](above === undefined && tellsControllersOfSent() === false && timed.onRequestStart ? { ...opts, [kCall]: call } : opts, timed)
  } catch (error) {
    call.fail(error)
    throw error
  }
}

/**
 * The interceptors of a composed dispatcher, and around them one that makes what comes below, however often, one call.
 * @param {any} self
 * @param {any[]} interceptors
 * @param {string} [origin] of a Pool
 * @returns {any[]}
 */
export function composed (self, interceptors, origin) {
  const { hooks } = self[kSettings]
  const all = interceptors.flat()
  return hooks === null ? all : [...all, oneCall(hooks, origin)]
}

/**
 * Makes what is dispatched below, however often, one call.
 * @param {Hooks} hooks
 * @param {string} [origin] of a Pool
 * @returns {(dispatch: Dispatch) => Dispatch}
 */
export function oneCall (hooks, origin) {
  return (dispatch) => (opts, handler) => {
    if (opts?.[kCall] !== undefined) return dispatch(opts, handler)
    const call = startCall(hooks, opts, origin ?? String(opts?.origin ?? ''), true)
    const timed = timedHandler(handler, new CallNotes(call, opts))
    if (timed === null) return dispatch(opts, handler)
    try {
      return dispatch({ ...opts, [kCall]: call }, timed)
    } catch (error) {
      call.end(error)
      throw error
    }
  }
}

/**
 * @param {Hooks} hooks
 * @param {any} opts
 * @param {string} origin
 * @param {boolean} composed
 */
function startCall (hooks, opts, origin, composed) {
  return new Call(hooks, currentTimingId(), opts?.method, `${origin}${opts?.path}`, composed)
}
