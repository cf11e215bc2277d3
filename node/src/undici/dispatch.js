/** What our dispatchers do with a request before undici gets it. The options reach undici as they are. */

import { hide } from '../patch.js'
import { afterHook, hooksOf, isInHook, NO_HOOKS } from '../timing/hooks.js'
import { Handler, handlerFor } from './handlers.js'
import { originOf } from './origin.js'

/** @typedef {import('./connector.js').ClientConfig} ClientConfig */

/** Where a dispatcher of ours has its config. Not a #field, because a composed dispatcher is a Proxy. */
export const kConfig = Symbol('onewrite config')
/** Where a Pool or Client has its origin, which is not in the options of its dispatches. */
export const kOrigin = Symbol('onewrite origin')
/** Some dispatcher has a handler of ours above its interceptors: a call may be an attempt. */
let nesting = false

/** @typedef {(opts: any, handler: any) => boolean} Dispatch */

/**
 * @param {any} dispatcher of ours, just made
 * @param {ClientConfig} config
 * @param {any} [origin] that undici has accepted
 */
export function setUp (dispatcher, config, origin) {
  hide(dispatcher, kConfig, config)
  if (origin !== undefined) hide(dispatcher, kOrigin, originOf(origin))
}

/** @param {any} dispatcher @returns {ClientConfig | undefined} */
export function configIn (dispatcher) { return dispatcher?.[kConfig] }

/**
 * Adds to a dispatcher class what each of ours does with a request and with interceptors.
 * @template {new (...args: any[]) => import('undici').Dispatcher} T
 * @param {T} Base undici's class
 * @returns {T}
 */
export const withDispatch = (Base) => /** @type {any} */ (class extends /** @type {any} */ (Base) {
  /** @param {any} opts @param {any} handler */
  dispatch (opts, handler) {
    const call = callOf(this, opts, handler)
    return call === null ? super.dispatch(opts, handler) : send(call, super.dispatch, this, opts)
  }

  /** Above the user's interceptors comes one of ours: retries and redirects are attempts of one call. */
  compose (/** @type {any[]} */ ...args) {
    const interceptors = Array.isArray(args[0]) ? args[0] : args
    const { timed } = /** @type {any} */ (this)[kConfig]
    return timed ? super.compose([...interceptors, uppermost(this)]) : super.compose(...args)
  }
})

/**
 * @param {any} self a dispatcher of ours
 * @param {any} opts
 * @param {any} handler
 * @param {'above' | 'client' | undefined} [place] of the handler, where it is not the one of an Agent or a Pool
 * @returns {Handler | null} the handler that undici gets, with the hooks of this dispatcher; null: as it is
 */
export function callOf (self, opts, handler, place) {
  const config = /** @type {ClientConfig} */ (self[kConfig])
  if (!config.timed) return null
  // A dispatcher of ours above has begun the call, or the attempt.
  if (handler instanceof Handler && handler.line === null && handler.outcome === undefined) return handler
  const hooks = hooksOf(config)
  if (hooks === null) return null
  if (place === 'above') nesting = true
  // undici 7 hides a handler of ours in one of its own from a client.
  const alone = !nesting && place === undefined
  return handlerFor(hooks, opts, handler, self[kOrigin], alone, place === 'above')
}

/** @param {Handler} call @param {Dispatch} dispatch a method of `self` @param {any} self @param {any} opts */
export function send (call, dispatch, self, opts) {
  if (call.hooks === NO_HOOKS && isInHook()) {
    // It may run while undici fails the requests of a connection. A dispatch then makes undici lose requests.
    afterHook(() => send(call, dispatch, self, opts))
    return true
  }
  try {
    return dispatch.call(self, opts, call)
  } catch (error) {
    call.threw(error)
    throw error
  }
}

/**
 * An interceptor whose handler learns which attempts are made for its call.
 * @param {any} self the dispatcher below
 * @returns {(dispatch: Dispatch) => Dispatch}
 */
export function uppermost (self) {
  return (dispatch) => (opts, handler) => {
    const call = callOf(self, opts, handler, 'above')
    return call === null ? dispatch(opts, handler) : send(call, dispatch, undefined, opts)
  }
}
