/**
 * Wrappers around the handler of a request, which note what undici tells it. There are two styles of handlers:
 * undici 7's API and older fetch use onConnect/onHeaders/…, undici 8 uses onRequestStart/onResponseStart/….
 * Each method makes its note and passes on all arguments; `this` of the user's handler is still that handler.
 */

import * as undici from 'undici'
import { serverTimingFields } from '../timing/server-timing.js'
import { isInMemory } from '../wire/body.js'

/** @typedef {import('../timing/call.js').Call} Call */

/**
 * Whether undici calls `onRequestSent` of handlers with a controller. undici 7 calls it only for handlers of the older
 * style. A feature of undici 8 tells the two apart, because a bundle hides the version.
 */
export const callsControllersWhenSent = /** @type {any} */ (undici).Dispatcher1Wrapper !== undefined

/** Its callbacks run when the present task is done. `queueMicrotask()` would make an AsyncResource for each. */
const settled = Promise.resolve()

/**
 * Whether undici accepts the handler (undici lib/core/util.js, assertRequestHandler). A handler that it refuses must reach
 * it unwrapped: a wrapper has all methods, so the request would be sent before the missing one is noticed.
 * @param {any} handler
 * @param {any} opts
 */
export function isTaken (handler, opts) {
  if (handler === null || handler === undefined) return false
  const upgrade = opts?.upgrade || opts?.method === 'CONNECT'
  if (typeof handler.onRequestStart === 'function') {
    // undici 7 checks no more.
    if (!callsControllersWhenSent) return true
    return typeof handler.onResponseError === 'function' && isOptional(handler.onBodySent) && isOptional(handler.onRequestSent) && (upgrade
      ? typeof handler.onRequestUpgrade === 'function'
      : typeof handler.onResponseStart === 'function' && typeof handler.onResponseData === 'function' && typeof handler.onResponseEnd === 'function')
  }
  return typeof handler.onConnect === 'function' && typeof handler.onError === 'function' && isOptional(handler.onBodySent) && (upgrade
    ? typeof handler.onUpgrade === 'function'
    : typeof handler.onHeaders === 'function' && typeof handler.onData === 'function' && typeof handler.onComplete === 'function')
}

/** @param {any} method */
function isOptional (method) { return method === undefined || typeof method === 'function' }

/** @param {any} handler that undici accepts @returns {boolean} it has the methods of the newer style */
export function isController (handler) { return typeof handler.onRequestStart === 'function' }

/**
 * @param {any} handler that undici accepts
 * @param {Call} call of which the dispatch is an attempt
 * @param {any} opts
 * @returns {any}
 */
export function attemptHandler (handler, call, opts) {
  return isController(handler) ? new ControllerAttempt(handler, call, opts) : new LegacyAttempt(handler, call, opts)
}

/**
 * The outermost handler of a composed dispatcher, which sees the end of the call.
 * @param {any} handler that undici accepts
 * @param {Call} call
 * @param {any} opts
 * @returns {any}
 */
export function callHandler (handler, call, opts) {
  return isController(handler) ? new ControllerCall(handler, call, opts) : new LegacyCall(handler, call, opts)
}

/** The notes of a dispatch that is an attempt. */
export class AttemptNotes {
  /** @param {any} inner the user's handler @param {Call} call @param {any} opts @param {boolean} tellsSent undici calls `onRequestSent` */
  constructor (inner, call, opts, tellsSent) {
    this.inner = inner
    this.call = call
    this.signal = opts?.signal
    this.atOnce = isInMemory(opts?.body)
    this.tellsSent = tellsSent
  }

  noteStart () { this.call.acquired(this.call.slot?.connection ?? null, this.atOnce) }

  onResponseStarted () {
    if (!this.tellsSent) this.call.requestSent(null)
    this.call.firstByte()
    return this.inner.onResponseStarted?.()
  }

  /** @param {any} chunk */
  onBodySent (chunk) { return this.inner.onBodySent?.(chunk) }

  onRequestSent () {
    this.call.requestSent()
    return this.inner.onRequestSent?.()
  }

  /** @param {number} status @param {any} headers */
  noteHead (status, headers) {
    if (status < 200) this.call.informational(status)
    else this.call.headers(status, serverTimingFields(headers))
  }

  /** @param {any} chunk */
  noteData (chunk) { this.call.received(chunk.length) }

  noteComplete () {
    const { call } = this
    const attempt = call.attempt
    call.responseEnd()
    // Whether the connection can be used again is asked only for a listener.
    if (call.receivers.connectionReleased === null) return call.finish(true, attempt)
    // undici destroys a connection that cannot be used again after this call, in the same task.
    const socket = attempt.connection?.socket
    settled.then(() => call.finish(socket != null && !socket.destroyed, attempt))
  }

  /** @param {number} status 101, or 200 for a tunnel: the connection carries no more HTTP */
  noteUpgrade (status) {
    this.call.headers(status)
    this.call.finish(false)
  }

  /** @param {any} error */
  noteError (error) {
    const { signal, call } = this
    const reason = signal?.aborted === true ? signal.reason : undefined
    // The caller dropped a body that it did not want to read: the call itself succeeded.
    if (call.answered && reason === undefined && isGivenUp(error)) return call.finish(false)
    if (!this.tellsSent) call.requestSent(null)
    const [shown, cancelled] = shownTo(error, reason)
    call.fail(shown, cancelled)
  }
}

/** The notes of a dispatch that has attempts below it. */
class CallNotes {
  answered = false

  /** @param {any} inner @param {Call} call @param {any} opts */
  constructor (inner, call, opts) {
    this.inner = inner
    this.call = call
    this.signal = opts?.signal
  }

  noteStart () {}
  noteData () {}

  onResponseStarted () { return this.inner.onResponseStarted?.() }

  /** @param {any} chunk */
  onBodySent (chunk) { return this.inner.onBodySent?.(chunk) }

  onRequestSent () { return this.inner.onRequestSent?.() }

  /** @param {number} status */
  noteHead (status) { this.answered = status >= 200 }

  // After the end of the attempt, which may wait for the same task.
  noteComplete () { settled.then(() => this.call.end()) }
  noteUpgrade () { this.call.end() }

  /** @param {any} error */
  noteError (error) {
    const reason = this.signal?.aborted === true ? this.signal.reason : undefined
    if (this.answered && reason === undefined && isGivenUp(error)) return this.call.end()
    const [shown, cancelled] = shownTo(error, reason)
    this.call.end(shown ?? new Error('failed'), cancelled)
  }
}

/**
 * @param {any} error
 * @param {any} reason of the caller's signal, when that was aborted
 * @returns {[any, boolean]} the error that the caller gets, and whether the caller cancelled
 */
function shownTo (error, reason) {
  const aborted = error?.code === 'UND_ERR_ABORTED'
  const cancelled = reason !== undefined && reason?.name !== 'TimeoutError' && (error === reason || aborted)
  return [aborted ? reason ?? error : error, cancelled]
}

/**
 * Whether it is undici's error for a body that was destroyed, or fetch's for one that was cancelled. For an AbortSignal
 * fetch uses the signal's reason instead (undici lib/web/fetch/index.js, Fetch.abort).
 * @param {any} error
 */
function isGivenUp (error) {
  return error?.code === 'UND_ERR_ABORTED' || (error?.name === 'AbortError' && error.message === 'The operation was aborted.')
}

/** @param {any} Notes @returns {any} */
const withLegacy = (Notes) => class extends Notes {
  /** @param {any} inner @param {Call} call @param {any} opts */
  constructor (inner, call, opts) {
    super(inner, call, opts, true)
    // undici checks whether these exist to learn what a handler can do.
    const own = /** @type {any} */ (this)
    if (typeof inner.onUpgrade !== 'function') own.onUpgrade = undefined
    if (typeof inner.onHeaders !== 'function') own.onHeaders = undefined
  }

  /** @param {any} abort @param {any} context */
  onConnect (abort, context) {
    this.noteStart()
    return this.inner.onConnect(abort, context)
  }

  /** @param {number} status @param {any} headers @param {any} resume @param {any} text */
  onHeaders (status, headers, resume, text) {
    this.noteHead(status, headers)
    return this.inner.onHeaders(status, headers, resume, text)
  }

  /** @param {number} status @param {any} headers @param {any} socket */
  onUpgrade (status, headers, socket) {
    this.noteUpgrade(status)
    return this.inner.onUpgrade(status, headers, socket)
  }

  /** @param {any} chunk */
  onData (chunk) {
    this.noteData(chunk)
    return this.inner.onData(chunk)
  }

  /** @param {any} trailers */
  onComplete (trailers) {
    this.noteComplete()
    return this.inner.onComplete(trailers)
  }

  /** @param {any} error */
  onError (error) {
    this.noteError(error)
    return this.inner.onError(error)
  }
}

/** @param {any} Notes @returns {any} */
const withController = (Notes) => class extends Notes {
  /** @param {any} inner @param {Call} call @param {any} opts */
  constructor (inner, call, opts) {
    super(inner, call, opts, callsControllersWhenSent)
    if (typeof inner.onRequestUpgrade !== 'function') /** @type {any} */ (this).onRequestUpgrade = undefined
  }

  /** @param {any} controller @param {any} context */
  onRequestStart (controller, context) {
    this.noteStart()
    return this.inner.onRequestStart(controller, context)
  }

  /** @param {any} controller @param {number} status @param {any} headers @param {any} text */
  onResponseStart (controller, status, headers, text) {
    this.noteHead(status, headers)
    return this.inner.onResponseStart?.(controller, status, headers, text)
  }

  /** @param {any} controller @param {number} status @param {any} headers @param {any} socket */
  onRequestUpgrade (controller, status, headers, socket) {
    this.noteUpgrade(status)
    return this.inner.onRequestUpgrade(controller, status, headers, socket)
  }

  /** @param {any} controller @param {any} chunk */
  onResponseData (controller, chunk) {
    this.noteData(chunk)
    return this.inner.onResponseData?.(controller, chunk)
  }

  /** @param {any} controller @param {any} trailers */
  onResponseEnd (controller, trailers) {
    this.noteComplete()
    return this.inner.onResponseEnd?.(controller, trailers)
  }

  /** @param {any} controller @param {any} error */
  onResponseError (controller, error) {
    this.noteError(error)
    return this.inner.onResponseError?.(controller, error)
  }
}

const [LegacyAttempt, ControllerAttempt] = [withLegacy(AttemptNotes), withController(AttemptNotes)]
const [LegacyCall, ControllerCall] = [withLegacy(CallNotes), withController(CallNotes)]
