/**
 * One call while it runs: takes the times, calls the listener, makes the record.
 * The listener gets an event when its place in the order is known; the event has the time at which it happened.
 */

import { nowNs, unixNs } from './clock.js'
import { errorKind } from '../errors.js'
import { AttemptState } from './attempt.js'
import { redactUrl } from './redact.js'
import { Timing } from './record.js'

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./record.js').Outcome} Outcome */
/** @typedef {import('./record.js').Phase} Phase */
/** @typedef {{connection: Connection | null}} Slot the newest connection of the client that will send the call */

/** Key in the options of a dispatch: the call whose attempts are made below, as retries or redirects. */
export const kCall = Symbol('onewrite call')
/** Key in a handler of ours, or else in the options of a dispatch: the call whose attempt has begun. */
export const kAttempt = Symbol('onewrite attempt')

const STEP_METHODS = /** @type {const} */ ({
  dns: ['onDnsStart', 'onDnsEnd'], connect: ['onConnectStart', 'onConnectEnd'], tls: ['onTlsStart', 'onTlsEnd']
})

export class Call {
  /** @type {import('./record.js').Attempt[] | null} */
  #finished = null
  /** @type {{kind: import('../errors.js').ErrorKind, phase: Phase | undefined} | null} of the last attempt */
  #failure = null

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
    const { wants } = hooks
    this.wants = wants
    this.id = id
    this.method = method
    this.url = redactUrl(url)
    this.startNs = nowNs()
    /** What the observer returned for this call; null: there is no observer, or it ignores this call. @type {any} */
    this.observed = hooks.observer === null ? null : hooks.begin()
    /** @type {Slot | null} */
    this.slot = null
    /** Answers where `requestSent()` is not called. @type {{wasSent: () => boolean, closing: () => void} | null} */
    this.sender = null
    this.attempt = new AttemptState(0, this.startNs)
    /** An attempt was made. There is none when an interceptor answers by itself, as from a cache. */
    this.attempted = !composed
    if (wants.callStart) {
      this.#tell('onCallStart', { name: 'callStart', tNs: this.startNs, method, url: this.url, startedAtUnixNs: unixNs(this.startNs) })
    }
    if (this.attempted) this.#announceAttempt()
  }

  #announceAttempt () {
    const { wants, attempt: { index, startNs } } = this
    if (wants.attemptStart) this.#tell('onAttemptStart', { name: 'attemptStart', tNs: startNs, attempt: index })
    if (wants.queueStart) this.#tell('onQueueStart', { name: 'queueStart', tNs: startNs, attempt: index })
  }

  /** Begins the first attempt of a composed call, or a retry or a redirect hop after the end of the one before. */
  nextAttempt () {
    if (!this.attempted) {
      this.attempted = true
      this.attempt = new AttemptState(0, nowNs())
      return this.#announceAttempt()
    }
    const { attempt } = this
    if (!attempt.acquired && !attempt.ended) return
    if (!attempt.ended) {
      if (attempt.responseEndNs !== 0) this.finish(true)
      else this.#endAttempt('error', nowNs())
    }
    const now = nowNs()
    this.attempt = new AttemptState(attempt.index + 1, now)
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
      attempt.connRequests = connection.requests
      // A connection that was begun for an earlier call is not part of this attempt's phases.
      attempt.ownConnection = !attempt.reused && connection.startNs >= attempt.startNs
    }
    const { wants } = this
    if (!atOnce || connection === null || wants.queueEnd || wants.steps || wants.connectionAcquired || this.observed !== null) {
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
    this.#leaveQueue(attempt.ownConnection ? connection : null, now)
    if (connection === null || !this.wants.connectionAcquired) return
    const { index, idleNs, connRequests } = attempt
    const event = { name: 'connectionAcquired', tNs: now, attempt: index, connId: connection.id, reused, connRequests }
    this.#tell('onConnectionAcquired', idleNs === undefined ? event : { ...event, idleNs })
  }

  /**
   * @param {Connection | null} own the connection that was made for this attempt
   * @param {number} now
   */
  #leaveQueue (own, now) {
    const { wants, attempt } = this
    attempt.queueEndNs = own === null ? now : own.startNs
    if (wants.queueEnd) this.#tell('onQueueEnd', { name: 'queueEnd', tNs: attempt.queueEndNs, attempt: attempt.index })
    if (own !== null && wants.steps) this.#tellSteps(own, attempt.index)
  }

  /**
   * @param {Connection} own
   * @param {number} attempt
   */
  #tellSteps (own, attempt) {
    for (const { name, startNs, endNs, error } of own.steps()) {
      const [onStart, onEnd] = STEP_METHODS[name]
      this.#tell(onStart, { name: `${name}Start`, tNs: startNs, attempt, ...(name === 'dns' ? { host: own.host } : null) })
      this.#tell(onEnd, { name: `${name}End`, tNs: endNs, attempt, ...(error === undefined ? null : { error }) })
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
    const { wants } = this
    if (wants.requestStart) this.#tell('onRequestStart', { name: 'requestStart', tNs: attempt.requestStartNs, attempt: attempt.index })
    if (connection.writing || (attempt.sent === false && this.sender?.wasSent() !== true)) return
    attempt.requestEndNs = Math.max(connection.lastWriteNs, attempt.requestStartNs + 1)
    if (wants.requestEnd) {
      this.#tell('onRequestEnd', {
        name: 'requestEnd', tNs: attempt.requestEndNs, attempt: attempt.index, bytes: attempt.bytesSent, writes: attempt.writes
      })
    }
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
    if (this.wants.informational) this.#tell('onInformational', { name: 'informational', tNs: attempt.firstByteNs, attempt: attempt.index, status })
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
    const { wants } = this
    if (wants.responseStart) this.#tell('onResponseStart', { name: 'responseStart', tNs: attempt.responseStartNs, attempt: attempt.index })
    if (wants.headersEnd) this.#tell('onHeadersEnd', { name: 'headersEnd', tNs: nowNs(), attempt: attempt.index, status })
    this.progress()
  }

  /** @param {number} bytes of the response's body that were read */
  received (bytes) { this.attempt.bytesReceived += bytes }

  /** The last byte of the response was read. */
  responseEnd () {
    const { attempt } = this
    attempt.responseEndNs = nowNs()
    this.progress()
    if (this.wants.responseEnd) {
      this.#tell('onResponseEnd', { name: 'responseEnd', tNs: attempt.responseEndNs, attempt: attempt.index, bytes: attempt.bytesReceived })
    }
  }

  /** Tells the observer that more is known. */
  progress () {
    const { observed, hooks } = this
    if (observed !== null) hooks.progress(observed, this)
  }

  /** @returns {Timing} the record as it would be if the call succeeded now */
  snapshot () {
    const { id, method, url, startNs, attempt } = this
    const now = nowNs()
    const attempts = [...this.#finished ?? []]
    if (this.attempted && !attempt.ended) attempts.push(attempt.record('ok', now))
    return new Timing(id, method, url, startNs, now - startNs, attempts, 'ok')
  }

  /** The final response has begun. */
  get answered () { return this.attempt.responseStartNs !== 0 }

  /** The attempt has not ended. */
  get running () { return !this.attempt.ended }

  /**
   * The attempt succeeded.
   * @param {boolean} reusable the connection can carry another request
   * @param {AttemptState} [attempt]
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
   * @param {AttemptState} [attempt]
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
      attempt.connection = own
      attempt.ownConnection = true
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
    if (this.wants.connectionReleased) {
      this.#tell('onConnectionReleased', { name: 'connectionReleased', tNs: now, attempt: this.attempt.index, reusable })
    }
  }

  /**
   * @param {Outcome} outcome
   * @param {number} now
   */
  #endAttempt (outcome, now) {
    const { attempt } = this
    attempt.ended = true
    if (attempt.acquired && attempt.connection !== null) attempt.connection.active--
    if (this.hooks.records) {
      const record = attempt.record(outcome, now)
      if (this.#finished === null) this.#finished = [record]
      else this.#finished.push(record)
    }
    if (this.wants.attemptEnd) this.#tell('onAttemptEnd', { name: 'attemptEnd', tNs: now, attempt: attempt.index, outcome })
  }

  /**
   * @param {Outcome} outcome
   * @param {number} now
   * @param {import('../errors.js').ErrorKind} [errorKind]
   * @param {Phase} [errorPhase]
   */
  #endCall (outcome, now, errorKind, errorPhase) {
    const { hooks, wants, id, method, url, startNs, observed } = this
    if (wants.callEnd) {
      this.#tell('onCallEnd', {
        name: 'callEnd',
        tNs: now,
        ...(this.attempted ? { attempt: this.attempt.index } : null),
        outcome,
        ...(errorKind === undefined ? null : { errorKind }),
        ...(errorPhase === undefined ? null : { errorPhase })
      })
    }
    if (!hooks.records) return
    const timing = new Timing(id, method, url, startNs, now - startNs, this.#finished ?? [], outcome, errorKind, errorPhase)
    if (observed !== null) hooks.end(observed, timing)
    hooks.timing(timing)
  }

  /**
   * @param {keyof import('./hooks.js').TimingListener} method
   * @param {import('./hooks.js').TimingEvent} event
   */
  #tell (method, event) {
    if (this.id !== undefined) event.id = this.id
    this.hooks.event(method, event)
  }
}

/** @param {import('../errors.js').ErrorKind} kind @returns {Outcome} */
function outcomeOf (kind) {
  return kind === 'cancelled' ? 'cancelled' : 'error'
}
