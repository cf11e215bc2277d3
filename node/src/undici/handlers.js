/**
 * The handler of one request, around the caller's: it is the call, or an attempt of it. undici 7 has handlers of two
 * styles: onConnect, onHeaders, … and onRequestStart, onResponseStart, …; undici 8 has the second alone, and adapts the
 * first itself. `this` of the caller's handler is still that handler.
 */

import { AsyncResource } from 'node:async_hooks'
import { callsControllersWhenSent } from '../base-version.js'
import { Call } from '../timing/call.js'
import { nowNs } from '../timing/clock.js'

/** @typedef {import('../timing/hooks.js').Hooks} Hooks */

const LEGACY = ['onConnect', 'onError', 'onHeaders', 'onData', 'onComplete']
const LEGACY_UPGRADE = ['onConnect', 'onError', 'onUpgrade']
const CONTROLLER = ['onResponseError', 'onResponseStart', 'onResponseData', 'onResponseEnd']
const CONTROLLER_UPGRADE = ['onResponseError', 'onRequestUpgrade']
const ON_ERROR = ['onResponseError']

/**
 * Of a handler that undici refuses (undici lib/core/util.js, assertRequestHandler) it returns null, because it must
 * reach undici unwrapped: a wrapper has all methods, so the request would be sent before the missing one is noticed.
 * @param {Hooks} hooks
 * @param {any} opts of a dispatch; read, never changed, copied or kept
 * @param {any} handler
 * @param {string | undefined} origin of the dispatcher, where it has one
 * @param {boolean} alone see `Call`
 * @param {boolean} above see `Call`
 * @returns {Handler | null} null: undici refuses the handler or the options, in its own way
 */
export function handlerFor (hooks, opts, handler, origin, alone, above) {
  try {
    const { onBodySent, onRequestSent } = handler
    if (onBodySent !== undefined && typeof onBodySent !== 'function') return null
    if (onRequestSent !== undefined && typeof onRequestSent !== 'function') return null
    const isUpgrade = opts.upgrade || opts.method === 'CONNECT'
    if (typeof handler.onRequestStart !== 'function') {
      for (const name of isUpgrade ? LEGACY_UPGRADE : LEGACY) if (typeof handler[name] !== 'function') return null
      return new LegacyHandler(hooks, opts, handler, origin, alone, above)
    }
    // undici 7 checks no more, but fails when it calls a missing onResponseError.
    const needed = callsControllersWhenSent ? isUpgrade ? CONTROLLER_UPGRADE : CONTROLLER : ON_ERROR
    for (const name of needed) if (typeof handler[name] !== 'function') return null
    // undici 7 wraps handlers for interceptors in one that has both styles, and its cache calls the first.
    const Style = LEGACY.every((name) => typeof handler[name] === 'function') ? BothHandler : ControllerHandler
    return new Style(hooks, opts, handler, origin, alone, above)
  } catch {
    return null
  }
}

/** @this {Handler} Set on a handler that a client sends. A mock searches for this method, so it is not on all. */
function noteSent () {
  this.sent = true
  return this.inner?.onRequestSent?.()
}

/** @this {Handler} */
function passRequestSent () { return this.inner?.onRequestSent() }

/** @this {Handler} @param {any} chunk */
function passBodySent (chunk) { return this.inner?.onBodySent(chunk) }

export class Handler extends Call {
  /**
   * @param {Hooks} hooks @param {any} opts @param {any} inner
   * @param {string | undefined} origin @param {boolean} alone @param {boolean} above
   */
  constructor (hooks, opts, inner, origin, alone, above) {
    // The handlers of undici's own functions have their asynchronous context.
    const context = inner instanceof AsyncResource ? inner : new AsyncResource('OnewriteCall', MANUAL)
    const { method, origin: own, path } = opts
    // undici refuses what is no text.
    const from = origin ?? (typeof own === 'string' ? own : own instanceof URL ? own.origin : '')
    super(hooks, context, typeof method === 'string' ? method : '', from, typeof path === 'string' ? path : '', alone,
      above)
    this.inner = inner
    this.signal = opts.signal
    /** @type {((chunk: any) => any) | undefined} */
    this.onBodySent = inner.onBodySent === undefined ? undefined : passBodySent
    /** @type {(() => any) | undefined} */
    this.onRequestSent = inner.onRequestSent === undefined ? undefined : passRequestSent
  }

  /**
   * A client sends it: it is an attempt.
   * @param {import('./connector.js').Line} line
   * @returns {boolean} false: another has sent it
   */
  bind (line) {
    if (this.line !== null || this.outcome !== undefined) return false
    this.line = line
    if (this.attempts !== null) {
      // Interceptors have passed the uppermost handler on as it is.
      this.attempts.push(this)
      if (this.receivers !== null) this.starts()
    }
    this.onRequestSent = noteSent
    return true
  }

  /** `dispatch()` itself threw. @param {any} error */
  threw (error) {
    this.owner ??= this
    this.fail(error)
    this.close()
  }

  onResponseStarted () {
    if (this.responseStartNs === 0) this.firstByteNs = nowNs()
    return this.inner?.onResponseStarted?.()
  }

  /** @param {any} error */
  failed (error) {
    const { signal } = this
    const reason = read(signal, 'aborted') === true ? read(signal, 'reason') : undefined
    const aborted = read(error, 'code') === 'UND_ERR_ABORTED'
    // The caller dropped a body that it did not want to read: the call itself succeeded.
    if (this.status !== undefined && reason === undefined && isGivenUp(error, aborted)) return this.endsHere()
    const cancelled = reason !== undefined && read(reason, 'name') !== 'TimeoutError' && (error === reason || aborted)
    this.fail((aborted ? reason ?? error : error) ?? new Error('failed'), cancelled)
  }

  /** The connection carries no other request. */
  endsHere () {
    if (this.isAttempt) this.finish(false)
    else this.complete()
  }

  /** The record, which hooks may keep, leads to nothing of the request. @param {any} [error] */
  letGo (error) {
    // For a 407 of a proxy that forwards, undici calls the handler with an error, and then with the body.
    if (!this.lastAttempt?.acquiredNs || read(error, 'code') !== 'UND_ERR_INVALID_ARG') this.inner = this.signal = null
  }
}

const MANUAL = { requireManualDestroy: true }
/** Its callbacks run when the present task is done. `queueMicrotask()` would make an AsyncResource for each. */
const settled = Promise.resolve()

/**
 * Whether it is undici's error for a body that was destroyed, or fetch's for one that was cancelled. For an AbortSignal
 * fetch uses the signal's reason instead (undici lib/web/fetch/index.js, Fetch.abort).
 * @param {any} error @param {boolean} aborted it has undici's code
 */
function isGivenUp (error, aborted) {
  return aborted || (read(error, 'name') === 'AbortError' && read(error, 'message') === 'The operation was aborted.')
}

/** @param {any} error any value: a caller may abort with it @param {string} name @returns {unknown} */
function read (error, name) {
  try {
    return error?.[name]
  } catch {
    return undefined
  }
}

/**
 * The methods of both styles differ in their names, and in the controller that comes first. undici skips a method that
 * a handler with a controller lacks, and fails where one of the other style lacks it.
 * @template {typeof Handler} T @param {T} Base
 * @param {string[]} names @param {boolean} controlled
 * @returns {T}
 */
function styleOf (Base, [start = '', head = '', upgrade = '', data = '', end = '', error = ''], controlled) {
  return /** @type {any} */ (class extends /** @type {new (...args: any[]) => Handler} */ (Base) {
    /** @param {any} first @param {any} context */
    [start] (first, context) {
      const before = this.reach()
      if (this.attempts === null || this.isAttempt) this.acquired()
      try {
        return this.inner?.[start](first, context)
      } finally {
        this.leave(before)
      }
    }

    /** @param {any} first @param {any} second @param {any} third @param {any} text */
    [head] (first, second, third, text) {
      this.head(controlled ? second : first)
      try {
        return controlled
          ? this.inner?.[head]?.(first, second, third, text)
          : this.inner?.[head](first, second, third, text)
      } finally {
        if (this.receivers !== null) this.tell()
      }
    }

    /** @param {any} first @param {any} second @param {any} third @param {any} socket */
    [upgrade] (first, second, third, socket) {
      // 101, or 200 for a tunnel: the connection carries no more HTTP.
      this.head(controlled ? second : first)
      this.endsHere()
      try {
        return controlled
          ? this.inner?.[upgrade]?.(first, second, third, socket)
          : this.inner?.[upgrade](first, second, third, socket)
      } finally {
        this.letGo()
        this.close()
      }
    }

    /** @param {any} first @param {any} second */
    [data] (first, second) {
      this.bytesReceived += (controlled ? second : first).length
      return controlled ? this.inner?.[data]?.(first, second) : this.inner?.[data](first, second)
    }

    /** @param {any} first @param {any} second */
    [end] (first, second) {
      this.complete()
      const result = controlled ? this.inner?.[end]?.(first, second) : this.inner?.[end](first, second)
      // What the handlers above throw comes back as an error.
      this.inner = this.signal = null
      if (this.outcome !== undefined) this.close()
      else {
        settled.then(() => {
          const socket = this.connection?.socket
          this.finish(socket != null && !socket.destroyed)
          this.close()
        })
      }
      return result
    }

    /** @param {any} first @param {any} second */
    [error] (first, second) {
      const reason = controlled ? second : first
      const before = this.reach()
      this.failed(reason)
      try {
        const result = this.inner?.[error](first, second)
        this.letGo(reason)
        return result
      } finally {
        this.leave(before)
        this.close()
      }
    }
  })
}

const CONTROLLED = ['onRequestStart', 'onResponseStart', 'onRequestUpgrade', 'onResponseData', 'onResponseEnd',
  'onResponseError']
/** undici 8 itself adapts them. */
const LegacyHandler = styleOf(Handler,
  ['onConnect', 'onHeaders', 'onUpgrade', 'onData', 'onComplete', 'onError'], false)
const ControllerHandler = styleOf(Handler, CONTROLLED, true)
const BothHandler = styleOf(LegacyHandler, CONTROLLED, true)
