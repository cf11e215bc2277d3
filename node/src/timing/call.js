/**
 * One call while it runs: takes the times, calls the hooks, ends the record.
 * A listener gets an event when its place in the order is known; the event has the time at which it happened.
 */

import { errorKind } from '../errors.js'
import { Attempt } from './attempt.js'
import { nowNs } from './clock.js'
import { MadeEvent } from './events.js'
import { deliver, mergeHooks, runningHooks } from './hooks.js'
import { currentTimingId } from './id.js'
import { Timing } from './record.js'

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./events.js').TimingEvent} TimingEvent */
/** @typedef {import('./hooks.js').Hooks} Hooks */
/** @typedef {import('./attempt.js').Phase} Phase */
/** @typedef {{waiting: number}} Source `waiting`: composed calls whose next attempt has not begun */
/** @typedef {{hooks: Hooks | null, source?: Source}} Owner */
/**
 * Sends the request of a call, on its present connection. With `wasSent` it reports whether the request was sent, where
 * `requestSent()` is not called.
 * @typedef {{connection: Connection | null, wasSent?: () => boolean}} Carrier
 */

/** Its callbacks run when the present task is done. `queueMicrotask()` would make an AsyncResource for each. */
const settled = Promise.resolve()

/** @internal The record of a call, with what fills it. */
export class Call extends Timing {
  /** @type {Hooks} */
  #hooks
  /** Who gets which event. Events are made only for those who get them. */
  #receivers
  /** Hooks run in the context in which the call was made. @type {import('node:async_hooks').AsyncResource | null} */
  #context
  /** Hooks that made this request. */
  #makers
  /** The state of each observer; null: there is none, or all ignore this call. @type {any[] | null} */
  #observed = null
  /** There may be retries and redirects; the call ends with `end()`. */
  #composed
  /** @type {Attempt} */
  #attempt
  /** The attempt has a connection. */
  #acquired = false
  #acquiredNs = 0
  /** Until the attempt ends. @type {Connection | null} */
  #connection = null
  #firstByteNs = 0
  /** The base library has passed all of it to the socket; null: it does not report that. @type {boolean | null} */
  #sent = false
  /** What was written has been taken over from the connection. */
  #captured = false
  /** Of the configurations whose hooks this call has. @type {(Source | undefined)[]} */
  #sources
  /** @type {Carrier | null} */
  #carrier = null
  /**
   * How the last attempt failed, and when.
   * @type {{outcome: 'error' | 'cancelled', now: number, kind: import('../errors.js').ErrorKind, phase?: Phase} | null}
   */
  #failure = null
  /** A composed call whose next attempt has not begun. */
  #waiting = false
  /** The composed call of which this is an attempt. @type {Call | null} */
  #whole = null
  /**
   * Events that wait until it is clear whether this is an attempt of a composed call; null: it is clear.
   * @type {{receivers: any, news: TimingEvent}[] | null}
   */
  #held = null

  /** @param {Owner} owner @param {import('node:async_hooks').AsyncResource} context of the caller */
  constructor (owner, context, method, origin, path = '', composed = false) {
    const startNs = nowNs()
    const attempt = new Attempt(0, startNs)
    super(currentTimingId(context), method, origin, path, startNs, composed ? [] : [attempt])
    this.#hooks = /** @type {Hooks} */ (owner.hooks)
    this.#receivers = this.#hooks.receivers
    this.#context = context
    this.#makers = runningHooks(context)
    this.#composed = composed
    this.#attempt = attempt
    this.#sources = [owner.source]
    if (owner.source !== undefined && owner.source.waiting > 0) this.#held = []
    this.#wait(true)
    if (this.#hooks.observers.length > 0) this.#observed = this.#hooks.begin()
    this.#start(this.#receivers, !composed)
  }

  /** The events at the start of a call, in the caller's context. */
  #start ({ callStart, attemptStart, queueStart }, attempted) {
    const { startedAtMonoNs } = this
    if (callStart !== null) {
      const event = /** @type {TimingEvent} */ (new MadeEvent(this, 'callStart', startedAtMonoNs, undefined))
      event.method = this.method
      event.url = this.url
      event.startedAtUnixNs = this.startedAtUnixNs
      this.#emitAtStart(callStart, event)
    }
    if (attempted) this.#startAttempt(attemptStart, queueStart)
  }

  #startAttempt (attemptStart, queueStart) {
    const { startedAtMonoNs } = this.#attempt
    if (attemptStart !== null) this.#emitAtStart(attemptStart, this.#event('attemptStart', startedAtMonoNs))
    if (queueStart !== null) this.#emitAtStart(queueStart, this.#event('queueStart', startedAtMonoNs))
  }

  /** Calls that begin meanwhile hold their events: each may be an attempt of this one. @param {boolean} waiting */
  #wait (waiting) {
    const [source] = this.#sources
    if (!this.#composed || source === undefined || waiting === this.#waiting) return
    this.#waiting = waiting
    source.waiting += waiting ? 1 : -1
  }

  /** A dispatcher below has hooks too: all are called. @param {Owner} owner */
  join (owner) {
    const { hooks } = owner
    if (hooks === null || this.#sources.includes(owner.source) || this.outcome !== undefined) return
    this.#sources.push(owner.source)
    if (hooks.observers.length > 0) {
      const none = () => null
      const before = this.#observed ?? this.#hooks.observers.map(none)
      this.#observed = [...before, ...(hooks.begin() ?? hooks.observers.map(none))]
    }
    this.#hooks = /** @type {Hooks} */ (mergeHooks([this.#hooks, hooks]))
    this.#receivers = this.#hooks.receivers
    this.#start(hooks.receivers, this.attempts.length > 0)
  }

  /** Begins the first attempt of a composed call, or a retry or a redirect hop after the end of the attempt before. */
  nextAttempt () {
    const { attempts } = this
    const before = attempts.length === 0 ? null : this.#attempt
    if (before !== null) {
      if (!this.#acquired && before.outcome === undefined) return
      if (before.responseEndMonoNs !== undefined) this.finish(true)
      else this.#endAttempt('error', nowNs())
    }
    this.#attempt = new Attempt(attempts.length, nowNs());
    /** @type {Attempt[]} */ (attempts).push(this.#attempt)
    this.#wait(false)
    this.#acquired = this.#captured = this.#sent = false
    this.#acquiredNs = this.#firstByteNs = 0
    this.#connection = this.#carrier = null
    const { attemptStart, queueStart } = this.#receivers
    this.#startAttempt(attemptStart, queueStart)
  }

  /** @param {Carrier} carrier will send the present attempt */
  carriedBy (carrier) { this.#carrier = carrier }

  /** The newest connection of what sends the present attempt. */
  get connection () { return this.#carrier?.connection ?? null }

  /**
   * The request is about to be written on a connection; `atOnce`: in this turn. Then the time of the write is used for
   * this event too, unless a hook has to be called now.
   */
  acquired (connection, atOnce = false) {
    // undici puts requests of a pipeline back when their connection breaks.
    if (this.#acquired) this.nextAttempt()
    const attempt = this.#attempt
    if (attempt.outcome !== undefined) return
    this.#acquired = true
    this.#connection = connection
    if (connection !== null) {
      if (!connection.multiplexed) {
        connection.call?.captureWrites()
        connection.call = this
        // node:http has queued its first request before the connection is made.
        if (connection.requests > 0) connection.resetWrites()
      }
      attempt.reused = connection.requests++ > 0
      attempt.connId = connection.id
      attempt.connRequests = connection.requests
      // A connection that was begun for an earlier call is not part of this attempt's phases.
      if (!attempt.reused && connection.startNs >= attempt.startedAtMonoNs) attempt.steps = connection.stepsUntil(0)
    }
    const later = atOnce && connection !== null && !connection.multiplexed
    if (!later || this.#hooks.wantsConnection || this.#observed !== null) {
      this.#acquiredAt(nowNs())
      if (connection?.multiplexed && atOnce) attempt.requestStartMonoNs = this.#acquiredNs
      this.progress()
    }
    if (connection !== null) connection.active++
  }

  #acquiredAt (now) {
    const attempt = this.#attempt
    const connection = this.#connection
    this.#acquiredNs = now
    if (connection !== null && attempt.reused && connection.releasedNs !== 0 && connection.active === 0) {
      attempt.idleNs = now - connection.releasedNs
    }
    this.#leaveQueue(attempt.steps === undefined ? null : connection, now)
    const { connectionAcquired } = this.#receivers
    if (connection === null || connectionAcquired === null) return
    const event = this.#event('connectionAcquired', now)
    event.connId = connection.id
    event.reused = attempt.reused
    event.idleNs = attempt.idleNs
    event.connRequests = attempt.connRequests
    this.#emit(connectionAcquired, event)
  }

  /** @param {Connection | null} own made for this attempt @param {number} now */
  #leaveQueue (own, now) {
    this.#attempt.queueEndMonoNs = own === null ? now : own.startNs
    this.#emitPlain(this.#receivers.queueEnd, 'queueEnd', this.#attempt.queueEndMonoNs)
    if (own !== null && this.#hooks.wantsConnection) this.#emitSteps(own)
  }

  #emitSteps ({ host, error, ready }) {
    const steps = /** @type {import('./connection.js').Steps} */ (this.#attempt.steps)
    for (const step of /** @type {const} */ (['dns', 'connect', 'tls'])) {
      const [startNs, endNs] = [steps[`${step}StartNs`], steps[`${step}EndNs`]]
      if (startNs === 0 || endNs === 0) continue
      const [start, end] = [this.#event(`${step}Start`, startNs), this.#event(`${step}End`, endNs)]
      if (step === 'dns') start.host = host
      end.error = step === steps.last && !ready ? error ?? 'given up' : undefined
      for (const event of [start, end]) {
        const receivers = this.#receivers[event.name]
        if (receivers !== null) this.#emit(receivers, event)
      }
    }
  }

  /** @param {boolean | null} [sent] see `#sent` */
  requestSent (sent = true) {
    this.#sent = sent
    const attempt = this.#attempt
    // Over HTTP/2 a request that is in memory leaves with the turn in which its stream begins.
    if (sent && this.#connection?.multiplexed && attempt.requestStartMonoNs !== undefined && this.running) {
      attempt.requestEndMonoNs ??= nowNs()
    }
  }

  /** Takes over the connection's counts, because the response or the next message of a pipeline has begun. */
  captureWrites () {
    const attempt = this.#attempt
    const connection = this.#connection
    if (connection === null || this.#captured || attempt.outcome !== undefined) return
    this.#captured = true
    if (this.#acquiredNs === 0) this.#acquiredAt(connection.firstWriteNs || nowNs())
    const { requestStart, requestEnd } = this.#receivers
    if (!connection.multiplexed) {
      if (connection.firstWriteNs === 0) return
      attempt.requestStartMonoNs = Math.max(connection.firstWriteNs, this.#acquiredNs)
      attempt.bytesSent = connection.bytesOut
      attempt.writes = connection.writes
      if (!connection.writing && (this.#sent !== false || this.#carrier?.wasSent?.() === true)) {
        attempt.requestEndMonoNs = Math.max(connection.lastWriteNs, attempt.requestStartMonoNs + 1)
      }
    }
    if (attempt.requestStartMonoNs === undefined) return
    this.#emitPlain(requestStart, 'requestStart', attempt.requestStartMonoNs)
    if (requestEnd === null || attempt.requestEndMonoNs === undefined) return
    const event = this.#event('requestEnd', attempt.requestEndMonoNs)
    event.bytes = attempt.bytesSent
    event.writes = attempt.writes
    this.#emit(requestEnd, event)
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
    const { informational, responseStart, headersEnd } = this.#receivers
    if (status < 200 && status !== 101) {
      this.#emitStatus(informational, 'informational', this.#firstByteNs, status)
      this.#firstByteNs = 0
      return
    }
    attempt.responseStartMonoNs = this.#firstByteNs
    attempt.status = status
    attempt.bytesReceived = 0
    this.#emitPlain(responseStart, 'responseStart', this.#firstByteNs)
    if (headersEnd !== null) this.#emitStatus(headersEnd, 'headersEnd', nowNs(), status)
    this.progress()
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
    const { responseEnd } = this.#receivers
    if (responseEnd === null) return
    const event = this.#event('responseEnd', attempt.responseEndMonoNs)
    event.bytes = attempt.bytesReceived
    this.#emit(responseEnd, event)
  }

  /** The response is complete, and the base library decides in this task whether the connection can be used again. */
  completed () {
    const attempt = this.#attempt
    this.responseEnd()
    // Whether the connection can be used again is only read for a listener.
    if (this.#receivers.connectionReleased === null) return this.finish(true)
    const socket = this.#connection?.socket
    settled.then(() => this.finish(socket != null && !socket.destroyed, attempt))
  }

  /** The observers get what is known so far. */
  progress () {
    if (this.#observed !== null) this.#hooks.observe('progress', this.#observed, this)
  }

  /** @param {() => boolean} run makes the base library's request; tracers make their span in it */
  within (run) { return this.#hooks.within(this.#observed ?? [], run) }

  /** Observers get this call. */
  get observed () { return this.#observed !== null }

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
  }

  /** The attempt failed, and with it a call that is not composed. @param {boolean} [cancelled] by the caller */
  fail (error, cancelled = false) {
    this.failAttempt(error, cancelled)
    this.endFailed()
  }

  /** The same without the end of the call: the attempt may belong to a call above. */
  failAttempt (error, cancelled = false) {
    const attempt = this.#attempt
    if (attempt.outcome !== undefined) return
    const kind = cancelled ? 'cancelled' : errorKind(error)
    if (this.#acquired) this.captureWrites()
    const now = nowNs()
    const phase = this.#acquired ? this.#failedOn() : this.#failedBefore(kind, error, now)
    if (this.#acquired) this.#release(false, now)
    const outcome = kind === 'cancelled' ? 'cancelled' : 'error'
    attempt.errorPhase = phase
    this.#endAttempt(outcome, now)
    this.#failure = { outcome, now, kind, phase }
  }

  endFailed () {
    if (this.#composed || this.#failure === null) return
    const { outcome, now, kind, phase } = this.#failure
    this.#endCall(outcome, now, kind, phase)
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
    const failure = this.last?.outcome === 'ok' ? null : this.#failure
    // An interceptor may replace the error of the last attempt by another error, whose kind is not known.
    const shown = kind === 'other' ? failure?.kind ?? kind : kind
    this.#endCall(kind === 'cancelled' ? 'cancelled' : 'error', nowNs(), shown, failure?.phase)
  }

  /** Makes the attempt of another call part of this composed call: an interceptor hid that they are the same. */
  absorb (other) {
    if (other === this || this.outcome !== undefined || other.outcome !== undefined) return
    if (other.#whole === null ? other.#held === null : other.#whole !== this) return
    if (this.attempts.includes(other.#attempt) || !this.#sources.includes(other.#sources[0])) return
    other.#attempt.index = this.attempts.length;
    /** @type {Attempt[]} */ (this.attempts).push(other.#attempt)
    this.#attempt = other.#attempt
    this.#acquired = true
    this.#failure = other.#failure
    other.#whole = this
    this.#wait(!this.running)
  }

  /** The handlers above have been called: whether this is an attempt of another call is clear. */
  settle () {
    const held = this.#held
    if (held === null) return
    this.#held = null
    for (const { receivers, news } of held) {
      if (this.#whole === null) this.#emit(receivers, news)
      else if (news.name !== 'callStart') {
        const event = this.#event(news.name, news.tNs)
        this.#emit(receivers, Object.assign(event, { ...news, attempt: event.attempt }))
      }
    }
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
    return this.#attempt.requestEndMonoNs === undefined ? 'send' : 'wait'
  }

  #release (reusable, now) {
    const connection = this.#connection
    if (connection === null) return
    connection.releasedNs = now
    if (connection.call === this) connection.call = null
    const { connectionReleased } = this.#receivers
    if (connectionReleased === null) return
    const event = this.#event('connectionReleased', now)
    event.reusable = reusable
    this.#emit(connectionReleased, event)
  }

  #endAttempt (outcome, now) {
    const attempt = this.#attempt
    if (attempt.outcome !== undefined) return
    attempt.outcome = outcome
    attempt.endedAtMonoNs = now
    if (this.#connection !== null) this.#connection.active--
    this.#connection = null
    const whole = this.#outermost
    if (whole.outcome === undefined) whole.#wait(true)
    const { attemptEnd } = this.#receivers
    if (attemptEnd === null) return
    const event = this.#event('attemptEnd', now)
    event.outcome = outcome
    this.#emit(attemptEnd, event)
  }

  #endCall (outcome, now, kind, phase) {
    if (this.outcome !== undefined) return
    this.settle()
    this.#wait(false)
    // Before the end, because a record that has ended freezes its attempts when they are read.
    const index = this.last?.index
    this.outcome = outcome
    this.errorKind = kind
    this.errorPhase = phase
    this.endedAtMonoNs = now
    Object.freeze(this)
    const { callEnd } = this.#receivers
    if (this.#whole === null) {
      if (callEnd !== null) {
        const event = /** @type {TimingEvent} */ (new MadeEvent(this, 'callEnd', now, index))
        event.outcome = outcome
        event.errorKind = kind
        event.errorPhase = phase
        this.#emit(callEnd, event, true)
      }
      if (this.#observed !== null) this.#hooks.observe('end', this.#observed, this)
      if (this.#hooks.timings.length > 0) this.#emit(this.#hooks.timings, this, true)
    }
    this.#context = this.#observed = this.#carrier = null
  }

  /** In the caller's context, which is active. */
  #emitAtStart (receivers, news) {
    if (this.#held === null) deliver(receivers, news, this.#makers, false)
    else this.#held.push({ receivers, news })
  }

  #emit (receivers, news, last = false) {
    if (this.#held === null) this.#context?.runInAsyncScope(deliver, undefined, receivers, news, this.#makers, last)
    else this.#held.push({ receivers, news })
  }

  #emitPlain (receivers, name, tNs) {
    if (receivers !== null) this.#emit(receivers, this.#event(name, tNs))
  }

  #emitStatus (receivers, name, tNs, status) {
    if (receivers === null) return
    const event = this.#event(name, tNs)
    event.status = status
    this.#emit(receivers, event)
  }

  /** @returns {Call} */
  get #outermost () { return this.#whole === null ? this : this.#whole.#outermost }

  /** @param {import('./events.js').EventName} name @param {number} tNs @returns {TimingEvent} of the present attempt */
  #event (name, tNs) { return new MadeEvent(this.#outermost, name, tNs, this.#attempt.index) }
}
