/**
 * One request on its way, and its record. The handlers of undici and the listener of node:http are its subclasses: they
 * call it at the moments of a request. Its own properties are the record, so that a program can log, spread and copy
 * it; they are complete when a hook gets it. Everything else is private.
 */

import { AsyncResource } from 'node:async_hooks'
import { errorKind } from '../errors.js'
import { nowNs, unixMs } from './clock.js'
import { callHooksLater } from './hooks.js'

/** @typedef {import('../errors.js').ErrorKind} ErrorKind */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {'ok' | 'error' | 'cancelled'} Outcome */
/** @typedef {'queue' | 'dns' | 'connect' | 'tls' | 'send' | 'wait' | 'receive'} Phase */
/**
 * @typedef {'queueStart' | 'queueEnd' | 'dnsStart' | 'dnsEnd' | 'connectStart' | 'connectEnd' | 'tlsStart' | 'tlsEnd' |
 *   'connectionAcquired' | 'requestStart' | 'requestEnd' | 'responseStart' | 'headersEnd' | 'responseEnd' |
 *   'connectionReleased'} EventName
 */

/** @type {Phase[]} */
const PHASES = ['queue', 'dns', 'connect', 'tls', 'send', 'wait', 'receive']

/**
 * The record of one request (spec/events.yaml). Times are integer nanoseconds, undefined for phases without a time.
 */
export class TimingRecord {
  method = ''
  /** Scheme, host, port if given, path: without user, password, query and fragment. @type {string | undefined} */
  url = undefined
  /** As the program saw it. @type {Outcome} */
  outcome = 'ok'
  /** Of the final answer, where its head was read. @type {number | undefined} */
  status = undefined
  /** @type {ErrorKind | undefined} */
  errorKind = undefined
  /** The phase in which it failed. @type {Phase | undefined} */
  errorPhase = undefined
  /** 1, 2, … of a request that undici 8's RetryAgent sends a second time. @type {number | undefined} */
  resend = undefined
  /** Number of the connection, unique in this thread. @type {number | undefined} */
  connId = undefined
  /** The connection had carried a request before. @type {boolean | undefined} */
  reused = undefined
  /** How long a reused connection had been idle. @type {number | undefined} */
  idleNs = undefined
  /** Requests on this connection, this one included. @type {number | undefined} */
  connRequests = undefined
  /** `host:port` of the proxy that the connection goes or would have gone through. @type {string | undefined} */
  proxy = undefined
  /** Head and body, before TLS. Absent over HTTP/2 and in a pipeline. @type {number | undefined} */
  bytesSent = undefined
  /** Of the body, as they were read, before decompression. @type {number | undefined} */
  bytesReceived = undefined
  /** From the call until its connection was being made, or was free. @type {number | undefined} */
  queueNs = undefined
  /** Name lookup. @type {number | undefined} */
  dnsNs = undefined
  /** TCP handshake. Behind a tunnelling proxy also the CONNECT exchange. @type {number | undefined} */
  connectNs = undefined
  /** TLS handshake. @type {number | undefined} */
  tlsNs = undefined
  /** From the connection at hand until the kernel had accepted the last byte. @type {number | undefined} */
  sendNs = undefined
  /** From there until the first byte of the final answer was read; node:http: its head. @type {number | undefined} */
  waitNs = undefined
  /** First until last byte of the answer. @type {number | undefined} */
  receiveNs = undefined
  totalNs = 0
  /** Wall clock at the start, since 1970, exact to 1 ms. */
  startedAtUnixNs = 0
  /** Clock of `process.hrtime()` at the start. */
  startedAtMonoNs = 0

  /** Each event and its time, in order, by the clock of `process.hrtime()`. @returns {[EventName, number][]} */
  get events () { return [] }

  /** The record for `JSON.stringify()`, with the snake_case names that all languages share. */
  toJSON () {
    /** @type {Record<string, string | number | boolean>} */
    const fields = {}
    for (const [name, value] of Object.entries(this)) {
      if (value !== undefined) fields[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = value
    }
    return fields
  }

  /** One line for a reader: `POST http://… 200 in 1.9 ms: connect 0.4, send 0.1, wait 1.2, receive 0.1; new conn 3`. */
  toString () {
    const { method, url, status, outcome, errorKind, errorPhase, totalNs, proxy, connId, reused, resend } = this
    const why = [outcome === 'error' && errorKind, errorPhase && `in ${errorPhase}`].filter(Boolean).join(' ')
    const result = outcome === 'ok' ? [status ?? 'ok'] : [status, outcome, why && `(${why})`]
    const phases = PHASES.map((name) => [name, this[`${name}Ns`]]).filter(([, ns]) => ns !== undefined)
      .map(([name, ns]) => `${name} ${inMs(Number(ns))}`).join(', ')
    return [method, url, ...result, 'in', inMs(totalNs), 'ms'].filter(Boolean).join(' ') +
      (proxy === undefined ? '' : ` via proxy ${proxy}`) + (phases === '' ? '' : `: ${phases}`) +
      (connId === undefined ? '' : `; ${reused ? 'reused' : 'new'} conn ${connId}`) +
      (resend === undefined ? '' : `; resend ${resend}`)
  }

  /** Called by `console.log()`. */
  [Symbol.for('nodejs.util.inspect.custom')] () { return this.toString() }
}

/** @internal */
export class Exchange extends TimingRecord {
  #hooks
  #origin
  #path
  /** @type {AsyncResource | null} */
  #scope
  // Moments, ns; 0: not reached.
  #acquiredNs = 0
  #sentNs = 0
  #firstByteNs = 0
  #headNs = 0
  #lastByteNs = 0
  #endNs = 0
  /** The base library has passed the whole request to the socket. */
  #passed = false
  /** Bytes that were written to the socket before; -1: its bytes are not of this request alone. */
  #bytesBefore = -1
  /** Until the end. @type {Connection | null} */
  #connection = null
  /** Of the connection, where it was made for this request. @type {import('./connection.js').Steps | null} */
  #steps = null

  /**
   * The request begins: a connection is asked for.
   * @param {import('../config.js').Hook[]} hooks
   * @param {string} method
   * @param {string} origin as the program gave it
   * @param {string} path or a whole URL, for a proxy that forwards
   * @param {AsyncResource} [scope] has the asynchronous context of the program's call, in which the hooks run. A new
   *   one needs no destroy: the garbage collector reports its end to context managers.
   */
  constructor (hooks, method, origin, path, scope = new AsyncResource('OnewriteRequest')) {
    super()
    this.#hooks = hooks
    this.#origin = origin
    this.#path = path
    this.#scope = scope
    this.method = method
    this.startedAtUnixNs = unixMs() * 1e6
    this.startedAtMonoNs = nowNs()
  }

  /**
   * It is about to be written, or was passed to a socket that has just connected.
   * @param {Connection | null} connection null: it is not known
   * @param {number} [bytesBefore] that were written to its socket for others
   */
  acquired (connection, bytesBefore = connection?.socket.bytesWritten) {
    if (this.#endNs !== 0) return
    const now = nowNs()
    // undici sends a request of a pipeline again when its connection breaks.
    if (this.#acquiredNs !== 0) {
      this.#passed = false
      this.#firstByteNs = this.#sentNs = 0
    }
    this.#acquiredNs = now
    if (connection === null) return
    const { socket, exchange } = connection
    this.#connection = connection
    this.connId = connection.id
    this.proxy ??= connection.proxy
    this.reused = connection.requests > 0
    this.connRequests = ++connection.requests
    this.#bytesBefore = socket.alpnProtocol === 'h2' ? -1 : bytesBefore ?? -1
    if (exchange !== null && exchange !== this) exchange.#bytesBefore = -1
    else if (connection.releasedNs !== 0) this.idleNs = now - connection.releasedNs
    if (!this.reused && connection.startNs >= this.startedAtMonoNs) this.#steps = connection.steps
    connection.exchange = this
    if (this.#passed) this.passed()
  }

  /** The base library has passed the last byte to the socket. */
  passed () {
    this.#passed = true
    if (this.#connection === null) return
    const { socket } = this.#connection
    // Bytes that the kernel does not accept at once are accepted when the socket drains.
    if (socket.writableNeedDrain) socket.once('drain', () => this.#sent())
    else this.#sent()
  }

  #sent () {
    // An answer that came early ends the sending: the rest is in no phase.
    if (this.#firstByteNs === 0 && this.#endNs === 0) this.#sentNs = nowNs()
  }

  /** The first byte of an answer was read. */
  firstByte () {
    if (this.#firstByteNs === 0) this.#firstByteNs = nowNs()
  }

  /** The head of an answer was read. @param {number} status */
  head (status) {
    // An interim answer is not the answer.
    if (status < 200 && status !== 101) {
      this.#firstByteNs = 0
      return
    }
    if (this.#endNs !== 0) return
    this.#headNs = nowNs()
    if (this.#firstByteNs === 0) this.#firstByteNs = this.#headNs
    this.status = status
    // The subclasses count.
    this.bytesReceived = 0
    this.#countSent()
  }

  #countSent () {
    if (this.#connection === null || this.#bytesBefore < 0) return
    const bytes = this.#connection.socket.bytesWritten - this.#bytesBefore
    if (bytes >= 0) this.bytesSent = bytes
  }

  /** The last byte of the answer was read. */
  lastByte () {
    if (this.#lastByteNs === 0 && this.#headNs !== 0) this.#lastByteNs = nowNs()
  }

  succeeded () {
    if (this.#endNs === 0) this.#end(this.#lastByteNs || nowNs())
  }

  /**
   * @param {any} error
   * @param {boolean} byProgram it gave the request up
   * @param {Connection | null} [connecting] the connection that may be being made for it
   */
  failed (error, byProgram, connecting = null) {
    if (this.#endNs !== 0) return
    const now = nowNs()
    const kind = errorKind(error)
    this.errorKind = byProgram && kind !== 'timeout' ? 'cancelled' : kind
    this.outcome = this.errorKind === 'cancelled' ? 'cancelled' : 'error'
    this.errorPhase = this.#failedPhase(connecting, now)
    this.#end(now)
  }

  /** @param {Connection | null} connecting @param {number} now @returns {Phase | undefined} */
  #failedPhase (connecting, now) {
    if (this.#headNs !== 0) return 'receive'
    // It was no answer, or an interim one.
    this.#firstByteNs = 0
    if (this.#acquiredNs !== 0) return this.#sentNs === 0 ? 'send' : 'wait'
    if (connecting !== null) {
      this.proxy ??= connecting.proxy
      if (connecting.requests === 0 && connecting.startNs >= this.startedAtMonoNs) {
        this.#steps = connecting.stepsUntil(now)
        if (!connecting.ready) return this.#steps.last
      }
    }
    // The base library refused the request.
    return this.errorKind === 'other' ? undefined : 'queue'
  }

  /** @param {number} now */
  #end (now) {
    this.#endNs = now
    if (this.bytesSent === undefined) this.#countSent()
    this.url = urlOf(this.#origin, this.#path)
    const start = this.startedAtMonoNs
    const acquired = this.#acquiredNs
    const sent = this.#sentNs
    const first = this.#firstByteNs
    const last = this.#lastByteNs
    const steps = this.#steps
    // A phase that happened is no shorter than 1 ns.
    const { max } = Math
    this.totalNs = max(1, now - start)
    if (acquired !== 0 || steps !== null || this.errorPhase === 'queue') {
      this.queueNs = max(1, (steps === null ? acquired || now : steps.dnsStart || steps.connectStart) - start)
    }
    if (steps !== null) {
      if (steps.dnsEnd !== 0) this.dnsNs = max(1, steps.dnsEnd - steps.dnsStart)
      if (steps.connectEnd !== 0) this.connectNs = max(1, steps.connectEnd - steps.connectStart)
      if (steps.tlsEnd !== 0) this.tlsNs = max(1, steps.tlsEnd - steps.tlsStart)
    }
    // The phase in which it failed lasts until the end.
    const phase = this.errorPhase
    if (sent !== 0) this.sendNs = max(1, sent - acquired)
    else if (phase === 'send') this.sendNs = max(1, now - acquired)
    if (sent !== 0 && first !== 0) this.waitNs = max(1, first - sent)
    else if (phase === 'wait') this.waitNs = max(1, now - sent)
    if (last !== 0 || phase === 'receive') this.receiveNs = max(1, (phase ? now : last) - first)
    const connection = this.#connection
    if (connection !== null) {
      connection.releasedNs = now
      if (connection.exchange === this) connection.exchange = null
      this.#connection = null
    }
    const scope = /** @type {AsyncResource} */ (this.#scope)
    // undici's own handlers hold the body of the request.
    this.#scope = null
    callHooksLater(this.#hooks, this, scope)
  }

  /** @returns {[import('./record.js').EventName, number][]} */
  get events () {
    const steps = this.#steps
    const phase = this.errorPhase
    const acquired = this.#acquiredNs
    const queueEnd = this.queueNs === undefined || phase === 'queue' ? 0 : this.startedAtMonoNs + this.queueNs
    /** @type {[import('./record.js').EventName, number | undefined | false][]} */
    const moments = [
      ['queueStart', this.queueNs !== undefined && this.startedAtMonoNs], ['queueEnd', queueEnd],
      ['dnsStart', steps?.dnsStart], ['dnsEnd', phase !== 'dns' && steps?.dnsEnd],
      ['connectStart', steps?.connectStart], ['connectEnd', phase !== 'connect' && steps?.connectEnd],
      ['tlsStart', steps?.tlsStart], ['tlsEnd', phase !== 'tls' && steps?.tlsEnd],
      ['connectionAcquired', acquired], ['requestStart', acquired], ['requestEnd', this.#sentNs],
      ['responseStart', this.#firstByteNs], ['headersEnd', this.#headNs],
      ['responseEnd', phase !== 'receive' && this.#lastByteNs],
      ['connectionReleased', acquired !== 0 && this.#endNs]
    ]
    return /** @type {[import('./record.js').EventName, number][]} */ (moments.filter(([, tNs]) => tNs))
  }
}

/** With one decimal, half up. @param {number} ns */
function inMs (ns) { return (Math.round(ns / 1e5) / 10).toFixed(1) }

/** Before the authority of a URL with a user. */
const USER = /^([a-z][a-z\d+.-]*:\/\/)[^/\\?#]*@/i

/**
 * @internal
 * @param {string} origin @param {string} path a whole URL for a proxy that forwards, `host:port` for one that tunnels
 * @returns {string} the URL of a request without user, password, query and fragment
 */
export function urlOf (origin, path) {
  const isWhole = /^https?:\/\//.test(path)
  const url = isWhole ? path : path === '' || path.startsWith('/') ? origin + path : `${origin}/${path}`
  const end = url.search(/[?#]/)
  return (end < 0 ? url : url.slice(0, end)).replace(USER, '$1')
}
