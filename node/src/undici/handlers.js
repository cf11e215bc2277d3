/**
 * Wrappers around the handler of a request, which time what undici reports to it. undici 7 has handlers of two
 * styles: onConnect, onHeaders, … and onRequestStart, onResponseStart, …; undici 8 has the second alone, and adapts the
 * first itself. Each method passes on all arguments; `this` of the user's handler is still that handler.
 */

import { callsControllersWhenSent } from '../base-version.js'

/** @typedef {import('../timing/call.js').Call} Call */

/** Its callbacks run when the present task is done. */
const settled = Promise.resolve()

/**
 * Whether undici accepts the handler (undici lib/core/util.js, assertRequestHandler). A handler that it refuses must
 * reach it unwrapped: a wrapper has all methods, so the request would be sent before the missing method is noticed.
 */
export function isValidHandler (handler, opts) {
  if (handler === null || typeof handler !== 'object') return false
  if (handler.onBodySent !== undefined && typeof handler.onBodySent !== 'function') return false
  const isUpgrade = opts?.upgrade || opts?.method === 'CONNECT'
  if (!isController(handler)) return hasAll(handler, isUpgrade ? LEGACY_UPGRADE : LEGACY)
  // undici 7 checks no more.
  return !callsControllersWhenSent || hasAll(handler, isUpgrade ? CONTROLLER_UPGRADE : CONTROLLER)
}

const LEGACY = ['onConnect', 'onError', 'onHeaders', 'onData', 'onComplete']
const LEGACY_UPGRADE = ['onConnect', 'onError', 'onUpgrade']
const CONTROLLER = ['onResponseError', 'onResponseStart', 'onResponseData', 'onResponseEnd']
const CONTROLLER_UPGRADE = ['onResponseError', 'onRequestUpgrade']

function hasAll (handler, methods) { return methods.every((name) => typeof handler[name] === 'function') }

/** @param {any} handler that undici accepts @returns {boolean} it has the methods of the newer style */
export function isController (handler) { return typeof handler.onRequestStart === 'function' }

/** @param {any} handler that undici accepts @param {Call} call @param {boolean} composed @returns {any} */
export function timedHandler (handler, call, opts, composed) {
  const Style = isController(handler) ? ControllerHandler : LegacyHandler
  return new Style(handler, call, opts, composed)
}

/** The call whose handler is calling the handlers above it, because its attempt starts or fails. @type {Call | null} */
let below = null

/** Calls a handler above. */
function callAbove (call, method, handler, first, second) {
  const before = below
  below = call
  try {
    return method?.call(handler, first, second)
  } finally {
    below = before
  }
}

export class TimedHandler {
  /** The final response has begun. */
  answered = false
  /** undici calls `onRequestSent` of this handler. */
  reportsSent = true

  /**
   * @param {any} inner the user's handler
   * @param {Call} call
   * @param {boolean} composed false: the handler of one attempt. true: the outermost handler of a composed dispatcher,
   *   which sees the end of the call
   */
  constructor (inner, call, opts, composed) {
    this.inner = inner
    this.call = call
    this.composed = composed
    this.signal = opts?.signal
  }

  onResponseStarted () {
    if (!this.composed) {
      if (!this.reportsSent) this.call.requestSent(null)
      this.call.firstByte()
    }
    return this.inner.onResponseStarted?.()
  }

  onBodySent (chunk) { return this.inner.onBodySent?.(chunk) }

  onRequestSent () {
    if (!this.composed) this.call.requestSent()
    return this.inner.onRequestSent?.()
  }

  started () {
    if (!this.composed) this.call.acquired(this.call.connection)
    else if (below !== null) this.call.giveWayTo(below)
  }

  head (status) {
    this.answered = status >= 200
    if (!this.composed) this.call.head(status)
  }

  complete () {
    if (!this.composed) this.call.completed()
    // After the end of the attempt, which may wait for the same task.
    else settled.then(() => this.call.end())
  }

  /** @param {number} status 101, or 200 for a tunnel: the connection carries no more HTTP */
  upgraded (status) {
    if (this.composed) return this.call.end()
    this.call.head(status)
    this.call.finish(false)
  }

  failed (error) {
    const { call, composed, signal } = this
    if (composed && below !== null) call.giveWayTo(below)
    const reason = signal?.aborted === true ? signal.reason : undefined
    const [shown, cancelled] = shownTo(error, reason)
    // The caller dropped a body that it did not want to read: the call itself succeeded.
    const givenUp = this.answered && reason === undefined && isGivenUp(error)
    if (composed) call.end(givenUp ? undefined : shown ?? new Error('failed'), cancelled)
    else if (givenUp) call.finish(false)
    else {
      if (!this.reportsSent) call.requestSent(null)
      call.fail(shown, cancelled)
    }
  }
}

/**
 * @param {any} reason of the caller's signal, when that was aborted
 * @returns {[any, boolean]} the error that the caller gets, and whether the caller cancelled
 */
function shownTo (error, reason) {
  const aborted = read(error, 'code') === 'UND_ERR_ABORTED'
  const cancelled = reason !== undefined && read(reason, 'name') !== 'TimeoutError' && (error === reason || aborted)
  return [aborted ? reason ?? error : error, cancelled]
}

/**
 * Whether it is undici's error for a body that was destroyed, or fetch's for one that was cancelled. For an AbortSignal
 * fetch uses the signal's reason instead (undici lib/web/fetch/index.js, Fetch.abort).
 */
function isGivenUp (error) {
  return read(error, 'code') === 'UND_ERR_ABORTED' ||
    (read(error, 'name') === 'AbortError' && read(error, 'message') === 'The operation was aborted.')
}

/** @param {any} error any value: a caller may abort with it @param {string} name @returns {unknown} */
function read (error, name) {
  try {
    return error?.[name]
  } catch {
    return undefined
  }
}

/** Of the style with onConnect, for undici 7. */
class LegacyHandler extends TimedHandler {
  onConnect (abort, context) {
    this.started()
    return callAbove(this.call, this.inner.onConnect, this.inner, abort, context)
  }

  onHeaders (status, headers, resume, text) {
    this.head(status)
    return this.inner.onHeaders(status, headers, resume, text)
  }

  onUpgrade (status, headers, socket) {
    this.upgraded(status)
    return this.inner.onUpgrade(status, headers, socket)
  }

  onData (chunk) {
    if (!this.composed) this.call.received(chunk.length)
    return this.inner.onData(chunk)
  }

  onComplete (trailers) {
    this.complete()
    return this.inner.onComplete(trailers)
  }

  onError (error) {
    this.failed(error)
    return callAbove(this.call, this.inner.onError, this.inner, error)
  }
}

/** Of the style with controllers. */
class ControllerHandler extends TimedHandler {
  reportsSent = callsControllersWhenSent

  onRequestStart (controller, context) {
    this.started()
    return callAbove(this.call, this.inner.onRequestStart, this.inner, controller, context)
  }

  onResponseStart (controller, status, headers, text) {
    this.head(status)
    return this.inner.onResponseStart?.(controller, status, headers, text)
  }

  onRequestUpgrade (controller, status, headers, socket) {
    this.upgraded(status)
    return this.inner.onRequestUpgrade(controller, status, headers, socket)
  }

  onResponseData (controller, chunk) {
    if (!this.composed) this.call.received(chunk.length)
    return this.inner.onResponseData?.(controller, chunk)
  }

  onResponseEnd (controller, trailers) {
    this.complete()
    return this.inner.onResponseEnd?.(controller, trailers)
  }

  onResponseError (controller, error) {
    this.failed(error)
    return callAbove(this.call, this.inner.onResponseError, this.inner, controller, error)
  }
}
