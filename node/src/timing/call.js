/**
 * A call while it runs, or one attempt of a call. In the common case both are one object, which is also the handler of
 * the base library: its subclasses are in undici/handlers.js and http/timed-request.js. It takes the times and calls
 * the hooks, which read it through the views of record.js.
 *
 * Which attempts belong to a call is known from the chain of handlers alone: what reaches a handler above while it
 * starts or fails is an attempt of that call. Until then `owner` is null, and its events wait.
 */

import { errorKind } from '../errors.js'
import { nowNs } from './clock.js'
import { MadeEvent } from './events.js'
import { callHooks, safely, timingIds } from './hooks.js'
import { Timing } from './record.js'

/** @typedef {import('node:async_hooks').AsyncResource} AsyncResource */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./events.js').EventName} EventName */
/** @typedef {import('./events.js').TimingEvent} TimingEvent */
/** @typedef {import('./hooks.js').Hooks} Hooks */
/** @typedef {import('./record.js').Phase} Phase */
/** @typedef {import('./record.js').Outcome} Outcome */
/** @typedef {import('../errors.js').ErrorKind} ErrorKind */
/** What sends the attempts of its requests. @typedef {{connection: Connection | null}} Line */

/** The handler that is calling those above it, because it starts or fails. @type {Call | null} */
let below = null

/** @internal */
export class Call {
  /**
   * @param {Hooks} hooks
   * @param {AsyncResource} context of the caller; hooks run in it
   * @param {string} method @param {string} origin @param {string} path
   * @param {boolean} alone nothing is above it
   * @param {boolean} [above] it is above interceptors, and no attempt itself
   */
  constructor (hooks, context, method, origin, path, alone, above = false) {
    this.id = timingIds === null ? undefined : context.runInAsyncScope(timingIds.getStore, timingIds)
    this.method = method
    this.origin = origin
    this.path = path
    this.hooks = hooks
    // Those of the call, also where this is an attempt of another.
    this.receivers = hooks.receivers
    this.context = /** @type {AsyncResource | null} */ (context)
    this.observed = hooks.observer === undefined ? null : safely(hooks.observer) ?? null
    /** The call of which it is an attempt, itself in the common case; null: not known yet. @type {Call | null} */
    this.owner = alone ? this : null
    // null: itself alone.
    this.attempts = /** @type {Call[] | null} */ (above ? [] : null)
    this.index = 0
    // What will send it.
    this.line = /** @type {Line | null} */ (null)
    // Until the attempt ends.
    this.connection = /** @type {Connection | null} */ (null)
    // When its own connection was made.
    this.steps = /** @type {import('./connection.js').Steps | null} */ (null)
    // Moments of the monotonic clock, ns; 0: not reached.
    this.startNs = nowNs()
    this.queueEndNs = 0
    this.acquiredNs = 0
    this.requestStartNs = 0
    this.requestEndNs = 0
    this.firstByteNs = 0
    this.responseStartNs = 0
    this.responseEndNs = 0
    this.endNs = 0
    this.outcome = /** @type {Outcome | undefined} */ (undefined)
    this.errorKind = /** @type {ErrorKind | undefined} */ (undefined)
    this.errorPhase = /** @type {Phase | undefined} */ (undefined)
    this.status = /** @type {number | undefined} */ (undefined)
    this.connId = /** @type {number | undefined} */ (undefined)
    this.reused = /** @type {boolean | undefined} */ (undefined)
    this.idleNs = /** @type {number | undefined} */ (undefined)
    this.connRequests = /** @type {number | undefined} */ (undefined)
    this.proxy = /** @type {string | undefined} */ (undefined)
    this.bytesSent = /** @type {number | undefined} */ (undefined)
    this.writes = /** @type {number | undefined} */ (undefined)
    this.bytesReceived = 0
    // The base library has passed all of the request to the socket.
    this.sent = false
    // The counts of the connection have been taken over.
    this.captured = false
    // The first and the last of its events that the hooks have not been called with.
    this.news = /** @type {TimingEvent | null} */ (null)
    this.lastNews = /** @type {TimingEvent | null} */ (null)
    this.opened = false
    this.telling = false
    // It ends when its last attempt has ended.
    this.closing = false
    // The call has ended.
    this.closed = false
    // The views that hooks get: of the call, and of the attempt.
    this.timing = new Timing(this)
    this.view = /** @type {import('./record.js').Attempt | null} */ (null)
    if (this.receivers === null) return
    if (!above) this.starts()
    // fetch() or request() has to return first: an abort in a hook before that is an assertion of undici.
    if (alone) queueMicrotask(() => this.tell())
  }

  /** The call that has the record. @returns {Call} */
  get top () {
    /** @type {Call} */
    let top = this
    while (top.owner !== null && top.owner !== top) top = top.owner
    return top
  }

  /** @returns {Call | undefined} */
  get lastAttempt () { return this.attempts === null ? this : this.attempts[this.attempts.length - 1] }

  starts () {
    this.event('attemptStart', this.startNs)
    this.event('queueStart', this.startNs)
  }

  /**
   * A handler above is reached: what calls it, because it starts or fails, is an attempt of the call.
   * @returns {Call | null} to be given to `leave()`
   */
  reach () {
    const from = below
    below = this
    // A request that a client sends has no attempts below it. One that starts in a handler of another call is separate.
    if (from === null || from.owner !== null || (this.line !== null && this.attempts === null)) return from
    const { top } = this
    if (from !== top && !top.closed) top.adopt(from)
    return from
  }

  /** The handlers above have been called. @param {Call | null} before */
  leave (before) {
    below = before
    this.owner ??= this
    if (this.receivers !== null) this.tell()
  }

  /** @param {Call} from an attempt, or a handler above attempts that is not the uppermost */
  adopt (from) {
    const attempts = from.attempts ?? [from]
    let { news } = from
    if (this.attempts === null) {
      // It seemed to be the attempt.
      this.attempts = []
      this.news = null
      const first = attempts[0]
      if (first !== undefined) first.startNs = this.startNs
      for (let event = news; event?.name === 'attemptStart' || event?.name === 'queueStart'; event = event.next) {
        event.tNs = this.startNs
        // The hooks have been called with those of this one.
        if (this.opened) news = event.next
      }
    }
    for (const attempt of attempts) attempt.index = this.attempts.push(attempt) - 1
    for (const each of [from, ...attempts]) each.id = this.id
    for (let event = news; event !== null; event = event.next) event.adopted()
    if (news !== null) this.append(news, from.lastNews)
    from.news = from.lastNews = null
    from.owner = this
    // The hooks of the uppermost dispatcher are called, no others.
    for (const attempt of attempts) attempt.receivers = this.receivers
    this.observed = from.observed ?? this.observed
  }

  /** The request is about to be written on the connection of its line. */
  acquired () {
    if (this.outcome !== undefined) return
    // undici puts requests of a pipeline back when their connection breaks. The events were delivered.
    const again = this.acquiredNs !== 0
    const now = this.acquiredNs = nowNs()
    const connection = this.connection = this.line === null ? null : this.line.connection
    this.captured = this.sent = false
    this.firstByteNs = 0
    /** Where it was made for this attempt. @type {Connection | null} */
    let own = null
    if (connection !== null) {
      if (!connection.multiplexed) {
        connection.call?.captureWrites()
        connection.call = this
        // node:http has queued its first request before the connection is made.
        if (connection.requests > 0) {
          connection.firstWriteNs = connection.lastWriteNs = connection.writes = connection.bytesOut = 0
          connection.writing = false
        }
      }
      this.reused = connection.requests++ > 0
      this.connId = connection.id
      this.connRequests = connection.requests
      this.proxy ??= connection.proxy
      if (connection.active++ === 0 && connection.releasedNs !== 0) this.idleNs = now - connection.releasedNs
      // A connect that began before this attempt is not part of its phases.
      if (!this.reused && connection.startNs >= this.startNs) own = connection
      if (!again && own !== null) this.steps = own.steps
      connection.steps = null
    }
    if (again) return
    this.queueEndNs = own === null ? now : own.startNs
    if (this.observed !== null) this.progress()
    if (this.receivers === null) return
    this.leaveQueue(own)
    const event = connection === null ? null : this.event('connectionAcquired', now)
    if (event !== null) {
      event.connId = this.connId
      event.reused = this.reused
      event.idleNs = this.idleNs
      event.connRequests = this.connRequests
    }
  }

  /** @param {Connection | null} own made for this attempt */
  leaveQueue (own) {
    this.event('queueEnd', this.queueEndNs)
    const { steps } = this
    if (own === null || steps === null) return
    for (const step of /** @type {const} */ (['dns', 'connect', 'tls'])) {
      const [startNs, endNs] = [steps[`${step}StartNs`], steps[`${step}EndNs`]]
      if (startNs === 0 || endNs === 0) continue
      const start = this.event(`${step}Start`, startNs)
      if (start !== null && step === 'dns') start.host = steps.host
      if (start !== null && step === 'connect') start.peer = steps.peer
      const end = this.event(`${step}End`, endNs)
      if (end !== null) end.error = step === steps.last && !own.ready ? steps.error ?? 'given up' : undefined
    }
  }

  /**
   * Takes over the connection's counts, because the response or the next message of a pipeline has begun.
   * @param {boolean} [interim] the response is an interim one: what is left of the request may follow
   */
  captureWrites (interim = false) {
    const { connection } = this
    if (connection === null || this.captured || this.outcome !== undefined) return
    if (connection.multiplexed || connection.lastWriteNs === 0) return
    if (this.requestStartNs === 0) {
      this.requestStartNs = Math.max(connection.firstWriteNs, this.acquiredNs)
      if (this.receivers !== null) this.event('requestStart', this.requestStartNs)
    }
    const isSent = this.sent && !connection.writing
    if (interim && !isSent) return
    this.captured = true
    this.bytesSent = connection.bytesOut
    this.writes = connection.writes
    if (!isSent) return
    this.requestEndNs = Math.max(connection.lastWriteNs, this.requestStartNs + 1)
    const event = this.receivers === null ? null : this.event('requestEnd', this.requestEndNs)
    if (event === null) return
    event.bytes = this.bytesSent
    event.writes = this.writes
  }

  /** The socket has passed on what it read, where it is watched. */
  readOn () {}

  /** An interim response is no answer: the request may still be sent. @param {number} status */
  interim (status) {
    if (this.outcome !== undefined || this.responseStartNs !== 0) return
    if (this.receivers !== null) {
      this.captureWrites(true)
      // Of 100 the program hears first, and may have sent the body by now.
      const event = status === 100 ? null : this.event('informational', this.firstByteNs || nowNs())
      if (event !== null) event.status = status
    }
    this.firstByteNs = 0
  }

  /** The head of a response. @param {number} status */
  head (status) {
    if (this.outcome !== undefined) return
    const isAttempt = this.attempts === null || this.isAttempt
    if (status < 200 && status !== 101) {
      if (isAttempt) this.interim(status)
      return
    }
    this.status = status
    if (!isAttempt) return
    if (this.firstByteNs === 0) this.firstByteNs = nowNs()
    this.captureWrites()
    this.responseStartNs = this.firstByteNs
    if (this.observed !== null) this.progress()
    if (this.receivers === null) return
    this.event('responseStart', this.firstByteNs)
    if (this.receivers.headersEnd !== null) {
      const event = this.event('headersEnd', nowNs())
      if (event !== null) event.status = status
    }
  }

  /** The last byte of the response was read. */
  responseEnd () {
    if (this.outcome !== undefined || this.responseEndNs !== 0 || this.responseStartNs === 0) return
    const now = this.responseEndNs = nowNs()
    if (this.observed !== null) this.progress()
    const event = this.receivers === null ? null : this.event('responseEnd', now)
    if (event !== null) event.bytes = this.bytesReceived
  }

  /** An observer gets what is known so far. */
  progress () {
    const { observed } = this
    if (observed !== null) safely(() => observed.progress(this.timing))
  }

  /** The attempt succeeded. @param {boolean} reusable the connection can carry another request */
  finish (reusable) {
    if (this.outcome === undefined) this.endAttempt('ok', this.responseEndNs || nowNs(), reusable)
  }

  /** The call succeeded, as the caller sees it, or the attempt did. */
  complete () {
    if (this.outcome !== undefined) return
    if (this.attempts !== null && !this.isAttempt) {
      this.outcome = 'ok'
      this.endNs = nowNs()
      return
    }
    this.responseEnd()
    // For a listener the base library has to decide first whether the connection can be used again.
    if (!this.receivers?.connectionReleased) this.endAttempt('ok', this.responseEndNs || nowNs(), true)
  }

  /** The call or the attempt failed. @param {any} error @param {boolean} [cancelled] by the caller */
  fail (error, cancelled = false) {
    if (this.closed || this.errorKind !== undefined) return
    const kind = this.errorKind = cancelled ? 'cancelled' : errorKind(error)
    const outcome = kind === 'cancelled' ? 'cancelled' : 'error'
    if (this.isAttempt && this.outcome === undefined) {
      this.captureWrites()
      const now = nowNs()
      this.errorPhase = this.acquiredNs === 0 ? this.failedBefore(kind, error, now) : this.failedOn()
      return this.endAttempt(outcome, now, false)
    }
    // An interceptor may replace the error of the last attempt by another one, whose kind is not known.
    const last = this.lastAttempt
    if (kind === 'other') this.errorKind = last?.errorKind ?? kind
    this.errorPhase = last === this ? 'receive' : last?.errorPhase
    this.outcome = outcome
    this.endNs = nowNs()
  }

  get isAttempt () { return this.attempts === null || this.attempts.includes(this) }

  /**
   * The phase in which a call without a connection failed.
   * @param {ErrorKind} kind @param {any} error @param {number} now @returns {Phase | undefined}
   */
  failedBefore (kind, error, now) {
    const connection = this.line?.connection ?? null
    if (connection !== null) this.proxy ??= connection.proxy
    const own = connection !== null && connection.requests === 0 && connection.startNs >= this.startNs
      ? connection
      : null
    if (own !== null) {
      if (own.steps?.error === undefined && !own.ready && kind !== 'cancelled') own.failed(error)
      this.steps = own.stepsUntil(now)
    }
    this.queueEndNs = own === null ? now : own.startNs
    this.leaveQueue(own)
    if (own !== null && !own.ready) return this.steps?.last
    // The base library refused the request.
    return kind === 'other' ? undefined : 'queue'
  }

  /** @returns {Phase} the phase in which a call with a connection failed */
  failedOn () {
    if (this.responseStartNs !== 0) return 'receive'
    const isSent = this.connection?.multiplexed ? this.sent : this.requestEndNs !== 0
    return isSent ? 'wait' : 'send'
  }

  /** @param {Outcome} outcome @param {number} now @param {boolean} reusable */
  endAttempt (outcome, now, reusable) {
    this.outcome = outcome
    this.endNs = now
    const { connection } = this
    if (connection !== null) {
      this.connection = null
      connection.active--
      connection.releasedNs = now
      if (connection.call === this) connection.call = null
      const event = this.receivers === null ? null : this.event('connectionReleased', now)
      if (event !== null) event.reusable = reusable
    }
    this.line = null
    if (this.receivers === null) return
    const event = this.event('attemptEnd', now)
    if (event !== null) event.outcome = outcome
  }

  /** The handlers above have been called with the end, so it is known whose it was. */
  close () {
    if (this.owner !== this) {
      const { top } = this
      if (top.closing) top.close()
      else top.tell()
      return
    }
    if (this.closed) return
    const last = this.attempts === null ? this : this.lastAttempt
    if (last !== undefined && last !== this && last.outcome === undefined) {
      // Whether its connection can be used again is not known yet.
      if (this.outcome === 'ok' && last.responseEndNs !== 0) {
        this.closing = true
        return
      }
      last.endAttempt(/** @type {Outcome} */ (this.outcome), this.endNs, false)
    }
    const event = this.receivers === null ? null : (last ?? this).event('callEnd', this.endNs)
    if (event !== null) {
      event.outcome = this.outcome
      event.errorKind = this.errorKind
      event.errorPhase = this.errorPhase
    }
    this.closed = true
    const { observed } = this
    if (observed !== null) safely(() => observed.end(this.timing))
    this.observed = null
    this.tell()
  }

  /**
   * An event, which the hooks get with the next `tell()`.
   * @param {EventName} name @param {number} tNs
   * @returns {TimingEvent | null} null: nobody gets it
   */
  event (name, tNs) {
    const top = this.owner === this ? this : this.top
    if (this.receivers === null || this.receivers[name] === null || top.closed) return null
    const event = new MadeEvent(this, name, tNs)
    top.append(event, event)
    return event
  }

  /** @param {TimingEvent} first @param {TimingEvent | null} last */
  append (first, last) {
    if (this.news === null || this.lastNews === null) this.news = first
    else this.lastNews.next = first
    this.lastNews = last
  }

  /** Calls the hooks of the call, in the caller's context. An event that comes meanwhile waits for its turn. */
  tell () {
    const top = this.owner === this ? this : this.top
    const begins = !top.opened && top.receivers?.callStart
    if (top.telling || top.owner === null || !(begins || top.closed || top.news !== null)) return
    top.telling = true
    top.context?.runInAsyncScope(tellAll, undefined, top)
    top.telling = false
  }
}

/** @param {Call} call */
function tellAll (call) {
  const { receivers } = call
  if (receivers !== null && !call.opened) {
    call.opened = true
    if (receivers.callStart !== null) callHooks(receivers.callStart, callStart(call))
  }
  while (call.news !== null) {
    const event = call.news
    call.news = event.next
    // A hook that keeps an event does not keep those after it.
    event.next = null
    callHooks(receivers?.[event.name] ?? [], event)
  }
  if (!call.closed) return
  call.context = call.lastNews = null
  callHooks(call.hooks.timings, call.timing)
}

/** @param {Call} call */
function callStart (call) {
  /** @type {TimingEvent} */
  const event = new MadeEvent(call, 'callStart', call.startNs)
  const { timing } = call
  event.attempt = undefined
  event.method = timing.method
  event.url = timing.url
  event.startedAtUnixNs = timing.startedAtUnixNs
  return event
}
