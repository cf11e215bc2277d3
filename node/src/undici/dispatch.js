/** What our dispatchers do with a request before undici gets it. */

import { AsyncResource } from 'node:async_hooks'
import { callsControllersWhenSent } from '../base-version.js'
import { withKeys } from '../config.js'
import { Call } from '../timing/call.js'
import { afterHook, isInHook } from '../timing/hooks.js'
import { isController, isValidHandler, TimedHandler, timedHandler } from './handlers.js'

/** Where a dispatcher of ours has its config. Not a #field, because a composed dispatcher is a Proxy. */
export const kConfig = Symbol('onewrite config')
/** Where a Pool or Client has its origin, which is not in the options of its dispatches. */
export const kOrigin = Symbol('onewrite origin')
/** undici's own dispatch, of each class. It also gets the call, where there is one. */
export const kBase = Symbol('onewrite base dispatch')
/** Key in the options of a dispatch: the call whose attempts are made below, as retries or redirects. */
const kComposed = Symbol('onewrite composed call')
/** Key in the options of a dispatch whose handler cannot carry it: the call whose attempt has begun. */
const kAttempt = Symbol('onewrite attempt')

/** @typedef {(opts: any, handler: any) => boolean} Dispatch */

/**
 * Adds to a dispatcher class what each of ours does with a request and with interceptors.
 * @template {new (...args: any[]) => import('undici').Dispatcher} T
 * @param {T} Base undici's class
 * @returns {T}
 */
export const withDispatch = (Base) => /** @type {any} */ (class extends /** @type {any} */ (Base) {
  dispatch (opts, handler) {
    const config = /** @type {any} */ (this)[kConfig]
    const call = config.timed ? callOf(opts, handler) : undefined
    // A dispatcher of ours above has begun the call.
    if (call !== undefined) {
      call.join(config)
      return this[kBase](opts, handler, call)
    }
    return config.hooks === null || !isValidHandler(handler, opts)
      ? this[kBase](opts, handler)
      : timedDispatch(this, opts, handler)
  }

  /** @param {Call} [call] of which this is an attempt */
  [kBase] (opts, handler, call) { return super.dispatch(opts, handler) }

  /** Above each of the user's interceptors comes one of ours: retries and redirects are attempts of one call. */
  compose (...args) {
    const { timed } = /** @type {any} */ (this)[kConfig]
    if (!timed) return super.compose(...args)
    const interceptors = Array.isArray(args[0]) ? args[0] : args
    return super.compose(interceptors.flatMap((interceptor) => [interceptor, oneCall(this)]))
  }
})

function timedDispatch (self, opts, handler) {
  // Begun above; between there and here are retries or redirects.
  const above = composedCall(opts, handler)
  above?.nextAttempt()
  const call = above ?? startCall(self, opts, handler, false)
  const timed = timedHandler(handler, call, opts, false)
  // undici 7 puts its wrapper around a handler of the newer style and hides it. So there the options carry the call.
  const carries = !callsControllersWhenSent && isController(handler)
  const carrying = carries ? withKeys(opts, { [kAttempt]: call }) : opts
  if (!isInHook()) return send(self, carrying, timed)
  // A hook may run while undici fails the requests of a connection. A dispatch then makes undici lose requests.
  afterHook(() => send(self, carrying, timed))
  return true
}

function send (self, opts, timed) {
  try {
    return self[kBase](opts, timed, timed.call)
  } catch (error) {
    timed.call.fail(error)
    throw error
  }
}

/** The dispatch of a composed dispatcher that is on the stack. @type {{call: Call, opts: any} | null} */
let dispatching = null

/**
 * An interceptor that makes all dispatches below it, for one dispatch above, attempts of one call. A dispatch belongs
 * to the call by its options or its handler, and where an interceptor replaces both, by its place on the stack. Where
 * that says nothing, each dispatch is a call.
 * @param {any} self the dispatcher below
 * @returns {(dispatch: Dispatch) => Dispatch}
 */
export function oneCall (self) {
  return (dispatch) => (opts, handler) => {
    if (self[kConfig].hooks === null || !isValidHandler(handler, opts)) return dispatch(opts, handler)
    const above = composedCall(opts, handler)
    const call = above ?? startCall(self, opts, handler, true)
    const outer = dispatching
    dispatching = { call, opts }
    try {
      const own = above === undefined ? timedHandler(handler, call, opts, true) : handler
      return dispatch(withKeys(opts, { [kComposed]: call }), own)
    } catch (error) {
      if (above === undefined) call.end(error)
      throw error
    } finally {
      dispatching = outer
    }
  }
}

function startCall (self, opts, handler, composed) {
  // The handlers of undici's own functions have their asynchronous context.
  const context = handler instanceof AsyncResource ? handler : new AsyncResource('OnewriteCall')
  const origin = self[kOrigin] ?? opts?.origin ?? ''
  return new Call(self[kConfig], context, opts?.method, origin.origin ?? String(origin), opts?.path, composed)
}

/** @returns {Call | undefined} the call of a composed dispatcher above, while it runs */
function composedCall (opts, handler) {
  const call = opts?.[kComposed] ?? (handler instanceof TimedHandler && handler.composed ? handler.call : onStack(opts))
  return call?.outcome === undefined ? call : undefined
}

/** @returns {Call | undefined} */
function onStack (opts) {
  const own = dispatching?.opts
  return own?.method === opts?.method && own?.path === opts?.path ? dispatching?.call : undefined
}

/** @returns {Call | undefined} the call of which this dispatch is an attempt */
function callOf (opts, handler) {
  return handler instanceof TimedHandler && !handler.composed ? handler.call : opts?.[kAttempt]
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
