/**
 * One call while it runs: takes the times, calls the listener, makes the record.
 * The listener gets an event when its place in the order is known; the event has the time at which it happened.
 */

import { nowNs, unixNs } from './clock.js'
import { errorKind } from '../errors.js'
import { LiveAttempt } from './attempt.js'
import { MadeEvent } from './events.js'
import { deliver } from './hooks.js'
import { redactUrl } from './redact.js'
import { Attempt, Timing } from './record.js'

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./events.js').EventName} EventName */
/** @typedef {import('./events.js').Receiver} Receiver */
/** @typedef {import('./record.js').Outcome} Outcome */
/** @typedef {import('./record.js').Phase} Phase */
/** @typedef {{connection: Connection | null}} Slot the newest connection of the client that will send the call */

/** Key in the options of a dispatch: the call whose attempts are made below, as retries or redirects. */
export const kCall = Symbol('onewrite call')
/** Key in the options of a dispatch whose handler cannot carry it: the call whose attempt has begun. */
export const kAttempt = Symbol('onewrite attempt')

export class Call {
  /** Attempts before the present one. @type {LiveAttempt[] | null} */
  #earlier = null
  /** @type {{kind: import('../errors.js').ErrorKind, phase: Phase | undefined} | null} of the last attempt */
  #failure = null
  /** @type {Timing | null} */
  #record = null
  /** @type {Outcome | null} */
  outcome = null
  /** @type {import('../errors.js').ErrorKind | undefined} */
  errorKind = undefined
  /** @type {Phase | undefined} */
  errorPhase = undefined
  endNs = 0
  /** @type {Slot | null} */
  slot = null
  /** Answers where `requestSent()` is not called. @type {{wasSent: () => boolean, closing: () => void} | null} */
  sender = null

  /**
   * @param {import('./hooks.js').Hooks} hooks
   * @param {string | number | undefined} id
   * @param {string} method
   * @param {string} url
   * @param {boolean} [composed] there may be retries and redirects; the call ends with `end()`
   */
  constructor (hooks, id, method, url, composed = false) {
    this.composed = composed
    this.hooks = hooks
    /** Events are made only for those who get them. */
    this.receivers = hooks.receivers
    this.id = id
    this.method = method
    this.url = redactUrl(url)
    this.startNs = nowNs()
    /** What the observers keep of this call; null: there is none, or all ignore this call. @type {any[] | null} */
    this.observed = hooks.observers.length === 0 ? null : hooks.begin()
    this.attempt = new LiveAttempt(0, this.startNs)
    /** An attempt was made. There is none when an interceptor answers without a request, as from a cache. */
    this.attempted = !composed
    const { callStart } = this.receivers
    if (callStart !== null) {
      const event = /** @type {import('./events.js').TimingEvent} */ (new MadeEvent(this, 'callStart', this.startNs, undefined))
      event.method = method
      event.url = this.url
      event.startedAtUnixNs = unixNs(this.startNs)
      deliver(callStart, event)
    }
    if (this.attempted) this.#announceAttempt()
  }

  #announceAttempt () {
    const { startNs } = this.attempt
    this.#tell(this.receivers.attemptStart, 'attemptStart', startNs)
    this.#tell(this.receivers.queueStart, 'queueStart', startNs)
  }

  /** Begins the first attempt of a composed call, or a retry or a redirect hop after the end of the one before. */
  nextAttempt () {
    if (!this.attempted) {
      this.attempted = true
      this.attempt = new LiveAttempt(0, nowNs())
      return this.#announceAttempt()
    }
    const { attempt } = this
    if (!attempt.acquired && !attempt.ended) return
    if (!attempt.ended) {
      if (attempt.responseEndNs !== 0) this.finish(true)
      else this.#endAttempt('error', nowNs())
    }
    if (this.#earlier === null) this.#earlier = [attempt]
    else this.#earlier.push(attempt)
    this.attempt = new LiveAttempt(attempt.index + 1, nowNs())
    this.slot = null
    this.#announceAttempt()
  }

  /**
   * The request is about to be written on a connection.
   * @param {Connection | null} connection
   * @param {boolean} [atOnce] the first write follows in the same turn. Its time is then used for this event too, unless
   *   a hook has to be called now
   */
  acquired (connection, atOnce = false) {
    // undici puts requests of a pipeline back when their connection breaks.
    if (this.attempt.acquired) this.nextAttempt()
    const attempt = this.attempt
    attempt.acquired = true
    attempt.connection = connection
    if (connection !== null) {
      connection.call?.captureWrites()
      connection.call = this
      // node:http has queued its first request before the connection is made.
      if (connection.requests > 0) connection.resetWrites()
      attempt.reused = connection.requests++ > 0
      connection.active++
      attempt.connId = connection.id
      attempt.connRequests = connection.requests
      // A connection that was begun for an earlier call is not part of this attempt's phases.
      if (!attempt.reused && connection.startNs >= attempt.startNs) attempt.steps = connection.steps
    }
    if (!atOnce || connection === null || this.hooks.wantsConnection || this.observed !== null) {
      this.#acquiredAt(nowNs())
      this.progress()
    }
  }

  /** @param {number} now */
  #acquiredAt (now) {
    const { attempt } = this
    const { connection, reused } = attempt
    attempt.acquiredNs = now
    if (connection !== null && reused && connection.releasedNs !== 0) attempt.idleNs = now - connection.releasedNs
    this.#leaveQueue(attempt.steps === null ? null : connection, now)
    const { connectionAcquired } = this.receivers
    if (connection === null || connectionAcquired === null) return
    const event = this.#event('connectionAcquired', now)
    event.connId = connection.id
    event.reused = reused
    if (attempt.idleNs !== undefined) event.idleNs = attempt.idleNs
    event.connRequests = attempt.connRequests
    deliver(connectionAcquired, event)
  }

  /**
   * @param {Connection | null} own the connection that was made for this attempt
   * @param {number} now
   */
  #leaveQueue (own, now) {
    const { attempt } = this
    attempt.queueEndNs = own === null ? now : own.startNs
    this.#tell(this.receivers.queueEnd, 'queueEnd', attempt.queueEndNs)
    if (own !== null && this.hooks.wantsConnection) this.#tellSteps(own)
  }

  /** @param {Connection} own */
  #tellSteps (own) {
    const { steps, host } = own
    const last = own.lastStep()
    for (const step of /** @type {const} */ (['dns', 'connect', 'tls'])) {
      const [startNs, endNs] = [steps[`${step}StartNs`], steps[`${step}EndNs`]]
      if (startNs === 0 || endNs === 0) continue
      const [start, end] = [this.#event(`${step}Start`, startNs), this.#event(`${step}End`, endNs)]
      if (step === 'dns') start.host = host
      if (step === last && own.error !== undefined) end.error = own.error
      deliver(this.receivers[start.name] ?? [], start)
      deliver(this.receivers[end.name] ?? [], end)
    }
  }

  /** The base library has passed the whole request to the socket; null: it does not say. @param {boolean | null} [sent] */
  requestSent (sent = true) { this.attempt.sent = sent }

  /** Takes over the connection's counts, because the response or the next message of a pipeline has begun. */
  captureWrites () {
    const attempt = this.attempt
    const connection = attempt.connection
    if (connection === null || attempt.captured) return
    attempt.captured = true
    if (attempt.acquiredNs === 0) this.#acquiredAt(connection.firstWriteNs || nowNs())
    if (connection.firstWriteNs === 0) return
    attempt.requestStartNs = Math.max(connection.firstWriteNs, attempt.acquiredNs)
    attempt.bytesSent = connection.bytesOut
    attempt.writes = connection.writes
    this.#tell(this.receivers.requestStart, 'requestStart', attempt.requestStartNs)
    if (connection.writing || (attempt.sent === false && this.sender?.wasSent() !== true)) return
    attempt.requestEndNs = Math.max(connection.lastWriteNs, attempt.requestStartNs + 1)
    const { requestEnd } = this.receivers
    if (requestEnd === null) return
    const event = this.#event('requestEnd', attempt.requestEndNs)
    event.bytes = attempt.bytesSent
    event.writes = attempt.writes
    deliver(requestEnd, event)
  }

  /** Something was read on the connection. */
  read () {
    const { attempt } = this
    if (attempt.firstByteNs === 0 && attempt.responseStartNs === 0 && !attempt.ended) this.firstByte()
  }

  /** A first byte was read, of an interim response or of the final one. */
  firstByte () {
    this.captureWrites()
    this.attempt.firstByteNs = nowNs()
  }

  /** @param {number} status 100 to 199 */
  informational (status) {
    const { attempt } = this
    if (attempt.firstByteNs === 0) this.firstByte()
    this.#tellStatus(this.receivers.informational, 'informational', attempt.firstByteNs, status)
    attempt.firstByteNs = 0
  }

  /**
   * @param {number} status of the final response
   * @param {string[] | null} [serverTiming] its Server-Timing fields
   */
  headers (status, serverTiming = null) {
    const attempt = this.attempt
    attempt.serverTimingFields = serverTiming
    if (attempt.firstByteNs === 0) this.firstByte()
    attempt.responseStartNs = attempt.firstByteNs
    attempt.status = status
    this.#tell(this.receivers.responseStart, 'responseStart', attempt.responseStartNs)
    const { headersEnd } = this.receivers
    if (headersEnd !== null) this.#tellStatus(headersEnd, 'headersEnd', nowNs(), status)
    this.progress()
  }

  /** @param {Receiver[] | null} receivers @param {'informational' | 'headersEnd'} name @param {number} tNs @param {number} status */
  #tellStatus (receivers, name, tNs, status) {
    if (receivers === null) return
    const event = this.#event(name, tNs)
    event.status = status
    deliver(receivers, event)
  }

  /** @param {number} bytes of the response's body that were read */
  received (bytes) { this.attempt.bytesReceived += bytes }

  /** The last byte of the response was read. */
  responseEnd () {
    const { attempt } = this
    attempt.responseEndNs = nowNs()
    this.progress()
    const { responseEnd } = this.receivers
    if (responseEnd === null) return
    const event = this.#event('responseEnd', attempt.responseEndNs)
    event.bytes = attempt.bytesReceived
    deliver(responseEnd, event)
  }

  /** Tells the observers that more is known. */
  progress () {
    if (this.observed !== null) this.hooks.observe('progress', this.observed, this)
  }

  /** @returns {Timing} the record, whole when the call has ended; before, as it would be if the call succeeded now */
  record () {
    if (this.#record !== null) return this.#record
    const endNs = this.endNs || nowNs()
    const attempts = []
    if (this.#earlier !== null) for (const live of this.#earlier) attempts.push(new Attempt(live, endNs))
    if (this.attempted) attempts.push(new Attempt(this.attempt, endNs))
    const record = new Timing(this, attempts, endNs)
    if (this.outcome !== null) this.#record = record
    return record
  }

  /** The final response has begun. */
  get answered () { return this.attempt.responseStartNs !== 0 }

  /** The attempt has not ended. */
  get running () { return !this.attempt.ended }

  /**
   * The attempt succeeded.
   * @param {boolean} reusable the connection can carry another request
   * @param {LiveAttempt} [attempt]
   */
  finish (reusable, attempt = this.attempt) {
    if (attempt.ended) return
    const now = attempt.responseEndNs || nowNs()
    this.#failure = null
    this.#release(reusable, now)
    this.#endAttempt('ok', now)
    if (!this.composed) this.#endCall('ok', now)
  }

  /**
   * The attempt failed.
   * @param {any} error
   * @param {boolean} [cancelled] by the caller
   * @param {LiveAttempt} [attempt]
   */
  fail (error, cancelled = false, attempt = this.attempt) {
    if (attempt.ended) return
    const kind = cancelled ? 'cancelled' : errorKind(error)
    if (attempt.acquired) this.captureWrites()
    const phase = attempt.acquired ? this.#failedOn() : this.#failedBefore(kind, error)
    const now = nowNs()
    this.#failure = { kind, phase }
    if (attempt.acquired) this.#release(false, now)
    const outcome = outcomeOf(kind)
    this.#endAttempt(outcome, now)
    if (!this.composed) this.#endCall(outcome, now, kind, phase)
  }

  /**
   * The end of a composed call.
   * @param {any} [error] that the caller gets instead of a response
   * @param {boolean} [cancelled]
   */
  end (error, cancelled = false) {
    if (error === undefined) {
      if (this.attempted && !this.attempt.ended) this.finish(true)
      return this.#endCall('ok', nowNs())
    }
    if (this.attempted && !this.attempt.ended) this.fail(error, cancelled)
    const kind = cancelled ? 'cancelled' : errorKind(error)
    // An interceptor may replace the error of the last attempt by one of its own, whose kind is not known.
    this.#endCall(outcomeOf(kind), nowNs(), kind === 'other' ? this.#failure?.kind ?? kind : kind, this.#failure?.phase)
  }

  /**
   * The phase in which a call without a connection failed.
   * @param {import('../errors.js').ErrorKind} kind
   * @param {any} error
   * @returns {Phase | undefined}
   */
  #failedBefore (kind, error) {
    const attempt = this.attempt
    const connection = this.slot?.connection ?? null
    const own = connection !== null && connection.requests === 0 && connection.startNs >= attempt.startNs ? connection : null
    if (own !== null) {
      attempt.steps = own.steps
      if (own.error === undefined && !own.isReady) own.failed(error)
    }
    this.#leaveQueue(own, nowNs())
    if (kind === 'invalid_request') return undefined
    return own === null ? 'queue' : own.lastStep()
  }

  /** @returns {Phase} the phase in which a call with a connection failed */
  #failedOn () {
    if (this.answered) return 'receive'
    return this.attempt.requestEndNs === 0 ? 'send' : 'wait'
  }

  /**
   * @param {boolean} reusable
   * @param {number} now
   */
  #release (reusable, now) {
    const connection = this.attempt.connection
    if (connection === null) return
    connection.releasedNs = now
    if (connection.call === this) connection.call = null
    const { connectionReleased } = this.receivers
    if (connectionReleased === null) return
    const event = this.#event('connectionReleased', now)
    event.reusable = reusable
    deliver(connectionReleased, event)
  }

  /**
   * @param {Outcome} outcome
   * @param {number} now
   */
  #endAttempt (outcome, now) {
    const { attempt } = this
    attempt.outcome = outcome
    attempt.endNs = now
    if (attempt.connection !== null) attempt.connection.active--
    attempt.connection = null
    const { attemptEnd } = this.receivers
    if (attemptEnd === null) return
    const event = this.#event('attemptEnd', now)
    event.outcome = outcome
    deliver(attemptEnd, event)
  }

  /**
   * @param {Outcome} outcome
   * @param {number} now
   * @param {import('../errors.js').ErrorKind} [errorKind]
   * @param {Phase} [errorPhase]
   */
  #endCall (outcome, now, errorKind, errorPhase) {
    const { hooks, observed } = this
    this.outcome = outcome
    this.errorKind = errorKind
    this.errorPhase = errorPhase
    this.endNs = now
    this.slot = null
    this.sender = null
    const { callEnd } = this.receivers
    if (callEnd !== null) {
      const event = /** @type {import('./events.js').TimingEvent} */ (new MadeEvent(this, 'callEnd', now, this.attempted ? this.attempt.index : undefined))
      event.outcome = outcome
      if (errorKind !== undefined) event.errorKind = errorKind
      if (errorPhase !== undefined) event.errorPhase = errorPhase
      deliver(callEnd, event)
    }
    if (observed !== null) hooks.observe('end', observed, this.record())
    if (hooks.timings.length > 0) deliver(hooks.timings, this.record())
  }

  /** @param {Receiver[] | null} receivers @param {EventName} name @param {number} tNs */
  #tell (receivers, name, tNs) {
    if (receivers !== null) deliver(receivers, this.#event(name, tNs))
  }

  /**
   * @param {EventName} name
   * @param {number} tNs
   * @returns {import('./events.js').TimingEvent} of the present attempt
   */
  #event (name, tNs) { return new MadeEvent(this, name, tNs, this.attempt.index) }
}

/** @param {import('../errors.js').ErrorKind} kind @returns {Outcome} */
function outcomeOf (kind) {
  return kind === 'cancelled' ? 'cancelled' : 'error'
}
