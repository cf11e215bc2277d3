/** What our dispatchers do with a request before undici gets it. The options reach undici as they are. */

import { hide } from '../patch.js'
import { afterHook, hooksOf, NO_HOOKS } from '../timing/hooks.js'
import { originOf } from './connector.js'
import { Handler, handlerFor } from './handlers.js'

/** @typedef {import('./connector.js').ClientConfig} ClientConfig */
/** @typedef {(opts: any, handler: any) => boolean} Dispatch */

/** Where a dispatcher of ours has its config. Not a #field, because a composed dispatcher is a Proxy. */
export const kConfig = Symbol('onewrite config')
/** Where a Pool or Client has its origin, which is not in the options of its dispatches. */
export const kOrigin = Symbol('onewrite origin')
/** Some dispatcher has a handler of ours above its interceptors: a call may be an attempt. */
let nesting = false

/**
 * @param {any} dispatcher of ours, just made
 * @param {ClientConfig} config
 * @param {any} [origin] that undici has accepted
 */
export function setUp (dispatcher, config, origin) {
  hide(dispatcher, kConfig, config)
  if (origin !== undefined) hide(dispatcher, kOrigin, originOf(origin))
}

/**
 * Adds to a dispatcher class what each of ours does with a request and with interceptors.
 * @template {new (...args: any[]) => import('undici').Dispatcher} T
 * @param {T} Base undici's class
 * @param {Dispatch} [send] in the place of undici's method, for a client
 * @returns {T}
 */
export const withDispatch = (Base, send) => /** @type {any} */ (class extends /** @type {any} */ (Base) {
  /** @param {any} opts @param {any} handler */
  dispatch (opts, handler) {
    return dispatchTimed(this, send ?? super.dispatch, this, opts, handler, send && 'client')
  }

  /** Above the user's interceptors comes one of ours: retries and redirects are attempts of one call. */
  compose (/** @type {any[]} */ ...args) {
    const interceptors = Array.isArray(args[0]) ? args[0] : args
    /** @param {Dispatch} dispatch @returns {Dispatch} */
    const uppermost = (dispatch) => (opts, handler) => dispatchTimed(this, dispatch, undefined, opts, handler, 'above')
    const { timed } = /** @type {any} */ (this)[kConfig]
    return timed ? super.compose([...interceptors, uppermost]) : super.compose(...args)
  }
})

/**
 * Passes a request on, with a handler that has the hooks of this dispatcher.
 * @param {any} self a dispatcher of ours
 * @param {Dispatch} dispatch a method of `target`
 * @param {any} target @param {any} opts @param {any} handler
 * @param {'above' | 'client' | undefined} place of the handler, where it is not the one of an Agent or a Pool
 */
export function dispatchTimed (self, dispatch, target, opts, handler, place) {
  const config = /** @type {ClientConfig} */ (self[kConfig])
  // A dispatcher of ours above may have begun the call, or the attempt.
  const isBegun = handler instanceof Handler && handler.line === null && handler.outcome === undefined
  const hooks = config.timed && !isBegun ? hooksOf(config) : null
  if (hooks === null) return dispatch.call(target, opts, handler)
  if (place === 'above') nesting = true
  // undici 7 hides a handler of ours in one of its own from a client.
  const alone = !nesting && place === undefined
  const call = handlerFor(hooks, opts, handler, self[kOrigin], alone, place === 'above')
  if (call === null) return dispatch.call(target, opts, handler)
  // A hook may run while undici fails the requests of a connection. A dispatch then makes undici lose requests.
  if (hooks === NO_HOOKS && afterHook(() => dispatch.call(target, opts, call))) return true
  try {
    return dispatch.call(target, opts, call)
  } catch (error) {
    call.threw(error)
    throw error
  }
}
