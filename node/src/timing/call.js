/**
 * One call while it runs: takes the times, calls the hooks, ends the record.
 * A listener gets an event when its place in the order is known; the event has the time at which it happened.
 */

import { errorKind } from '../errors.js'
import { Attempt } from './attempt.js'
import { nowNs } from './clock.js'
import { MadeEvent } from './events.js'
import { deliver, mergeHooks, runningHooks, safely } from './hooks.js'
import { currentTimingId } from './id.js'
import { Timing } from './record.js'

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./events.js').TimingEvent} TimingEvent */
/** @typedef {import('./hooks.js').Hooks} Hooks */
/** @typedef {import('./attempt.js').Phase} Phase */
/** `source` is the same in all copies of a config. @typedef {{hooks: Hooks | null, source?: object}} Owner */
/**
 * Sends the request of a call, on its present connection. With `wasSent` it reports whether the request was sent, where
 * `requestSent()` is not called.
 * @typedef {{connection: Connection | null, wasSent?: () => boolean}} Carrier
 */

/** Its callbacks run when the present task is done. `queueMicrotask()` would make an AsyncResource for each. */
const settled = Promise.resolve()
/** @type {(MadeEvent | Timing)[]} */
const NOTHING = []

/** @internal The record of a call, with what fills it. */
export class Call extends Timing {
  /** @type {Hooks} */
  #hooks
  /** What the hooks have not been called with. */
  #news = NOTHING
  /** Hooks run in the context in which the call was made. @type {import('node:async_hooks').AsyncResource | null} */
  #context
  /** Hooks that made this request. */
  #makers
  /** @type {import('./hooks.js').Observed | null} */
  #observed
  /** There may be retries and redirects; the call ends with `end()`. */
  #composed
  /** @type {Attempt} */
  #attempt
  /** When the attempt got a connection; 0: it has none. */
  #acquiredNs = 0
  /** Until the attempt ends. @type {Connection | null} */
  #connection = null
  #firstByteNs = 0
  /** The base library has passed all of it to the socket; null: it does not report that. @type {boolean | null} */
  #sent = false
  /** What was written has been taken over from the connection. */
  #captured = false
  /** Of the configurations whose hooks this call has. @type {unknown} */
  #source
  /** @type {unknown[] | null} */
  #joined = null
  /** @type {Carrier | null} */
  #carrier = null
  /** How the last attempt failed. @type {import('../errors.js').ErrorKind | undefined} */
  #kind = undefined

  /** @param {Owner} owner @param {import('node:async_hooks').AsyncResource} context of the caller */
  constructor (owner, context, method, origin, path = '', composed = false) {
    const startNs = nowNs()
    const attempt = new Attempt(0, startNs)
    super(currentTimingId(context), method, origin, path, startNs, composed ? [] : [attempt])
    this.#hooks = /** @type {Hooks} */ (owner.hooks)
    this.#context = context
    this.#makers = runningHooks(context)
    this.#composed = composed
    this.#attempt = attempt
    this.#source = owner.source
    this.#observed = this.#hooks.observe()
    // Of a composed call nothing is known before its first attempt: an interceptor may hide whose attempts they are.
    if (!composed) this.#start()
  }

  /** The events with which a call begins. */
  #start () {
    const event = this.#event('callStart', this.startedAtMonoNs)
    if (event !== null) {
      event.attempt = undefined
      event.method = this.method
      event.url = this.url
      event.startedAtUnixNs = this.startedAtUnixNs
    }
    if (this.attempts.length > 0) this.#startAttempt()
    this.#tell()
  }

  #startAttempt () {
    const { startedAtMonoNs } = this.#attempt
    this.#event('attemptStart', startedAtMonoNs)
    this.#event('queueStart', startedAtMonoNs)
  }

  /** A dispatcher below has hooks too: all are called. @param {Owner} owner */
  join ({ hooks, source }) {
    if (hooks === null || source === this.#source || this.outcome !== undefined) return
    if (this.#joined?.includes(source)) return;
    (this.#joined ??= []).push(source)
    this.#observed ??= hooks.observe()
    const before = this.#hooks
    this.#hooks = hooks
    this.#start()
    this.#hooks = /** @type {Hooks} */ (mergeHooks([before, hooks]))
  }

  /** Begins the first attempt of a composed call, or a retry or a redirect hop after the end of the attempt before. */
  nextAttempt () {
    // A cache that has answered may go on to fetch.
    if (this.outcome !== undefined) return
    const { attempts } = this
    const isFirst = attempts.length === 0
    if (!isFirst) {
      const { outcome, responseEndMonoNs } = this.#attempt
      if (this.#acquiredNs === 0 && outcome === undefined) return
      if (responseEndMonoNs !== undefined) this.finish(true)
      else this.#endAttempt('error', nowNs())
    }
    this.#attempt = new Attempt(attempts.length, nowNs());
    /** @type {Attempt[]} */ (attempts).push(this.#attempt)
    this.#captured = this.#sent = false
    this.#acquiredNs = this.#firstByteNs = 0
    this.#connection = this.#carrier = null
    this.#kind = undefined
    if (isFirst) return this.#start()
    this.#startAttempt()
    this.#tell()
  }

  /** Without a record: the call of `other`, whose attempt it did not get to know, has one. @param {Call} other */
  giveWayTo (other) {
    if (other !== this && this.attempts.length === 0) this.outcome ??= 'ok'
  }

  /** @param {Carrier} carrier will send the present attempt */
  carriedBy (carrier) { this.#carrier = carrier }

  /** The newest connection of what sends the present attempt. */
  get connection () { return this.#carrier?.connection ?? null }

  /** The request is about to be written on a connection. */
  acquired (connection) {
    // undici puts requests of a pipeline back when their connection breaks.
    if (this.#acquiredNs !== 0) this.nextAttempt()
    const attempt = this.#attempt
    if (attempt.outcome !== undefined) return
    const now = this.#acquiredNs = nowNs()
    this.#connection = connection
    if (connection === null) this.#leaveQueue(null, now)
    else {
      if (!connection.multiplexed) {
        connection.call?.captureWrites()
        connection.call = this
        // node:http has queued its first request before the connection is made.
        if (connection.requests > 0) connection.resetWrites()
      }
      attempt.reused = connection.requests++ > 0
      attempt.connId = connection.id
      attempt.connRequests = connection.requests
      if (connection.active++ === 0 && connection.releasedNs !== 0) attempt.idleNs = now - connection.releasedNs
      // A connection that was begun for an earlier call is not part of this attempt's phases.
      const isOwn = !attempt.reused && connection.startNs >= attempt.startedAtMonoNs
      if (isOwn) attempt.steps = connection.steps
      this.#leaveQueue(isOwn ? connection : null, now)
      const event = this.#event('connectionAcquired', now)
      if (event !== null) {
        event.connId = attempt.connId
        event.reused = attempt.reused
        event.idleNs = attempt.idleNs
        event.connRequests = attempt.connRequests
      }
    }
    this.progress()
    this.#tell()
  }

  /** @param {Connection | null} own made for this attempt @param {number} now */
  #leaveQueue (own, now) {
    this.#attempt.queueEndMonoNs = own === null ? now : own.startNs
    this.#event('queueEnd', this.#attempt.queueEndMonoNs)
    if (own === null || this.#hooks.receivers === null) return
    const steps = /** @type {import('./connection.js').Steps} */ (this.#attempt.steps)
    for (const step of /** @type {const} */ (['dns', 'connect', 'tls'])) {
      const [startNs, endNs] = [steps[`${step}StartNs`], steps[`${step}EndNs`]]
      if (startNs === 0 || endNs === 0) continue
      const start = this.#event(`${step}Start`, startNs)
      if (start !== null && step === 'dns') start.host = own.host
      const end = this.#event(`${step}End`, endNs)
      if (end !== null) end.error = step === steps.last && !own.ready ? own.error ?? 'given up' : undefined
    }
  }

  /** @param {boolean | null} [sent] see `#sent` */
  requestSent (sent = true) { this.#sent = sent }

  /** Takes over the connection's counts, because the response or the next message of a pipeline has begun. */
  captureWrites () {
    const attempt = this.#attempt
    const connection = this.#connection
    if (connection === null || this.#captured || attempt.outcome !== undefined) return
    this.#captured = true
    if (connection.multiplexed || connection.firstWriteNs === 0) return
    attempt.requestStartMonoNs = Math.max(connection.firstWriteNs, this.#acquiredNs)
    attempt.bytesSent = connection.bytesOut
    attempt.writes = connection.writes
    this.#event('requestStart', attempt.requestStartMonoNs)
    if (connection.writing || (this.#sent === false && this.#carrier?.wasSent?.() !== true)) return
    attempt.requestEndMonoNs = Math.max(connection.lastWriteNs, attempt.requestStartMonoNs + 1)
    const event = this.#event('requestEnd', attempt.requestEndMonoNs)
    if (event === null) return
    event.bytes = attempt.bytesSent
    event.writes = attempt.writes
  }

  /** Something was read on the connection. */
  read () {
    if (this.#firstByteNs === 0 && !this.answered && this.running) this.firstByte()
  }

  /** A first byte was read, of an interim response or of the final one. */
  firstByte () {
    this.captureWrites()
    this.#firstByteNs = nowNs()
  }

  /** The head of a response. @param {number} status 100 to 199: an interim response */
  head (status) {
    const attempt = this.#attempt
    if (attempt.outcome !== undefined) return
    if (this.#firstByteNs === 0) this.firstByte()
    const isInterim = status < 200 && status !== 101
    if (!isInterim) {
      attempt.responseStartMonoNs = this.#firstByteNs
      attempt.status = status
      attempt.bytesReceived = 0
      this.#event('responseStart', this.#firstByteNs)
    }
    const event = isInterim
      ? this.#event('informational', this.#firstByteNs)
      : this.#hooks.receivers?.headersEnd ? this.#event('headersEnd', nowNs()) : null
    if (event !== null) event.status = status
    if (isInterim) this.#firstByteNs = 0
    else this.progress()
    this.#tell()
  }

  /** @param {number} bytes of the response's body that were read */
  received (bytes) {
    const attempt = this.#attempt
    if (attempt.outcome === undefined) attempt.bytesReceived = (attempt.bytesReceived ?? 0) + bytes
  }

  /** The last byte of the response was read. */
  responseEnd () {
    const attempt = this.#attempt
    if (attempt.outcome !== undefined) return
    attempt.responseEndMonoNs = nowNs()
    this.progress()
    const event = this.#event('responseEnd', attempt.responseEndMonoNs)
    if (event === null) return
    event.bytes = attempt.bytesReceived
    this.#tell()
  }

  /** The response is complete, and the base library decides in this task whether the connection can be used again. */
  completed () {
    const attempt = this.#attempt
    this.responseEnd()
    // Whether the connection can be used again is only read for a listener.
    if (!this.#hooks.receivers?.connectionReleased) return this.finish(true)
    const socket = this.#connection?.socket
    settled.then(() => this.finish(socket != null && !socket.destroyed, attempt))
  }

  /** The observer gets what is known so far. */
  progress () {
    const observed = this.#observed
    if (observed !== null) safely(() => observed.progress(this))
  }

  get observed () { return this.#observed }

  /** The final response has begun. */
  get answered () { return this.#attempt.responseStartMonoNs !== undefined }

  /** The attempt has not ended. */
  get running () { return this.#attempt.outcome === undefined }

  /** The attempt succeeded. @param {boolean} reusable the connection can carry another request */
  finish (reusable, attempt = this.#attempt) {
    if (attempt.outcome !== undefined) return
    const now = attempt.responseEndMonoNs ?? nowNs()
    this.#release(reusable, now)
    this.#endAttempt('ok', now)
    if (!this.#composed) this.#endCall('ok', now)
    else this.#tell()
  }

  /** The attempt failed, and with it a call that is not composed. @param {boolean} [cancelled] by the caller */
  fail (error, cancelled = false) {
    const attempt = this.#attempt
    if (attempt.outcome !== undefined) return
    const kind = this.#kind = cancelled ? 'cancelled' : errorKind(error)
    this.captureWrites()
    const now = nowNs()
    attempt.errorPhase = this.#acquiredNs === 0 ? this.#failedBefore(kind, error, now) : this.#failedOn()
    this.#release(false, now)
    const outcome = kind === 'cancelled' ? 'cancelled' : 'error'
    this.#endAttempt(outcome, now)
    if (!this.#composed) this.#endCall(outcome, now, kind, attempt.errorPhase)
    else this.#tell()
  }

  /** The end of a composed call. @param {any} [error] that the caller gets instead of a response */
  end (error, cancelled = false) {
    const attempted = this.attempts.length > 0
    if (error === undefined) {
      if (attempted) this.finish(true)
      return this.#endCall('ok', nowNs())
    }
    if (attempted) this.fail(error, cancelled)
    const kind = cancelled ? 'cancelled' : errorKind(error)
    // An interceptor may replace the error of the last attempt by another error, whose kind is not known.
    const shown = kind === 'other' ? this.#kind ?? kind : kind
    this.#endCall(kind === 'cancelled' ? 'cancelled' : 'error', nowNs(), shown, this.last?.errorPhase)
  }

  /** The phase in which a call without a connection failed. */
  #failedBefore (kind, error, now) {
    const attempt = this.#attempt
    const { connection } = this
    const own = connection !== null && connection.requests === 0 && connection.startNs >= attempt.startedAtMonoNs
      ? connection
      : null
    if (own !== null) {
      attempt.steps = own.stepsUntil(now)
      if (own.error === undefined && !own.ready && kind !== 'cancelled') own.failed(error)
    }
    this.#leaveQueue(own, now)
    if (own !== null && !own.ready) return own.steps.last
    // The base library refused the request.
    return kind === 'other' ? undefined : 'queue'
  }

  /** @returns {Phase} the phase in which a call with a connection failed */
  #failedOn () {
    if (this.answered) return 'receive'
    const isSent = this.#connection?.multiplexed ? this.#sent : this.#attempt.requestEndMonoNs !== undefined
    return isSent === false ? 'send' : 'wait'
  }

  #release (reusable, now) {
    const connection = this.#connection
    if (connection === null) return
    connection.releasedNs = now
    if (connection.call === this) connection.call = null
    const event = this.#event('connectionReleased', now)
    if (event !== null) event.reusable = reusable
  }

  #endAttempt (outcome, now) {
    const attempt = this.#attempt
    if (attempt.outcome !== undefined) return
    attempt.outcome = outcome
    attempt.endedAtMonoNs = now
    if (this.#connection !== null) this.#connection.active--
    this.#connection = null
    const event = this.#event('attemptEnd', now)
    if (event !== null) event.outcome = outcome
  }

  #endCall (outcome, now, kind, phase) {
    if (this.outcome !== undefined) return
    const isAttempted = this.attempts.length > 0
    if (!isAttempted) this.#start()
    this.outcome = outcome
    this.errorKind = kind
    this.errorPhase = phase
    this.endedAtMonoNs = now
    Object.freeze(this)
    const event = this.#event('callEnd', now)
    if (event !== null) {
      if (!isAttempted) event.attempt = undefined
      event.outcome = outcome
      event.errorKind = kind
      event.errorPhase = phase
    }
    const observed = this.#observed
    if (observed !== null) safely(() => observed.end(this))
    this.#tell(this.#hooks.timings.length > 0)
    this.#context = this.#observed = this.#carrier = null
  }

  /**
   * An event of the present attempt, which the hooks get with the next `#tell()`.
   * @param {import('./events.js').EventName} name @param {number} tNs
   * @returns {TimingEvent | null} null: nobody gets it
   */
  #event (name, tNs) {
    const { receivers } = this.#hooks
    if (receivers === null || receivers[name] === null) return null
    const event = new MadeEvent(this, name, tNs, this.#attempt.index)
    if (this.#news === NOTHING) this.#news = [event]
    else this.#news.push(event)
    return event
  }

  /** Calls the hooks, in the caller's context. @param {boolean} [ended] they get the record too */
  #tell (ended = false) {
    const news = this.#news
    if (news === NOTHING && !ended) return
    this.#news = NOTHING
    this.#context?.runInAsyncScope(deliver, undefined, this.#hooks, news, ended ? this : null, this.#makers)
  }
}
