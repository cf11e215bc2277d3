/**
 * The record of a call (spec/events.yaml, `record`): frozen, made of what was noted while the call ran. It holds nothing of
 * the base library. A phase that did not happen is absent, never 0.
 */

import { unixNs } from './clock.js'
import { parseServerTiming, serverNsOf } from './server-timing.js'

/** @typedef {'queue' | 'dns' | 'connect' | 'tls' | 'send' | 'wait' | 'receive' | 'total'} Phase */
/** @typedef {'ok' | 'error' | 'cancelled'} Outcome */

const PHASES = /** @type {const} */ (['queue', 'dns', 'connect', 'tls', 'send', 'wait', 'receive'])

/** One try of a call. */
export class Attempt {
  /**
   * @param {import('./attempt.js').LiveAttempt} live
   * @param {number} nowNs its end, where it has not ended
   */
  constructor (live, nowNs) {
    const { acquired, steps } = live
    /** 0, 1, … */
    this.index = live.index
    /** @type {Outcome} */
    this.outcome = live.outcome ?? 'ok'
    /** Status code of the final response. */
    this.status = live.status
    /** Number of the connection, unique in this process. */
    this.connId = live.connId
    /** True: the connection had carried a request before. */
    this.reused = acquired ? live.reused : undefined
    /** How long a reused connection had been idle, ns. */
    this.idleNs = live.idleNs
    /** Requests on this connection, this one included. */
    this.connRequests = acquired ? live.connRequests : undefined
    /** Head and body as handed to the socket (before TLS), bytes. */
    this.bytesSent = live.bytesSent || undefined
    /** Writes to the socket that carried the request. */
    this.writes = live.writes || undefined
    /** Body bytes of the response as read (before decompression). */
    this.bytesReceived = live.responseStartNs === 0 ? undefined : live.bytesReceived
    /** Waiting for a connection, ns. */
    this.queueNs = between(live.startNs, live.queueEndNs)
    /** Name lookup, ns. */
    this.dnsNs = steps === null ? undefined : between(steps.dnsStartNs, steps.dnsEndNs)
    /** TCP handshake; behind a tunnelling proxy also the CONNECT exchange, ns. */
    this.connectNs = steps === null ? undefined : between(steps.connectStartNs, steps.connectEndNs)
    /** TLS handshake, ns. */
    this.tlsNs = steps === null ? undefined : between(steps.tlsStartNs, steps.tlsEndNs)
    /** First byte handed to the kernel until the last write returned, ns. */
    this.sendNs = between(live.requestStartNs, live.requestEndNs)
    /** Last write returned until the first byte of the final response was read, ns. */
    this.waitNs = between(live.requestEndNs, live.responseStartNs)
    /** First until last byte of the response, ns. */
    this.receiveNs = between(live.responseStartNs, live.responseEndNs)
    const entries = live.serverTimingFields === null ? [] : parseServerTiming(live.serverTimingFields)
    /** Entries of the response's Server-Timing. */
    this.serverTiming = entries.length === 0 ? undefined : entries
    /** The server's part of `waitNs` by its own account: its entry `total`, else its longest, ns. */
    this.serverNs = entries.length === 0 ? undefined : serverNsOf(entries, this.waitNs)
    /** The rest of `waitNs`: the network, proxies, queues before the server's clock starts, ns. */
    this.networkNs = this.serverNs === undefined || this.waitNs === undefined ? undefined : this.waitNs - this.serverNs || undefined
    /** The whole attempt, ns. */
    this.totalNs = (live.endNs || nowNs) - live.startNs
    /** Monotonic clock at its start, ns. */
    this.startedAtMonoNs = live.startNs
    /** Monotonic clock when the first byte was handed to the kernel, ns. */
    this.requestStartMonoNs = live.requestStartNs || undefined
    /** Monotonic clock when the first byte of the final response was read, ns. */
    this.responseStartMonoNs = live.responseStartNs || undefined
    Object.freeze(this)
  }
}

/**
 * @param {number} fromNs
 * @param {number} toNs
 * @returns {number | undefined}
 */
function between (fromNs, toNs) {
  return fromNs === 0 || toNs === 0 ? undefined : Math.max(0, toNs - fromNs)
}

export class Timing {
  /**
   * @param {Pick<import('./call.js').Call, 'id' | 'method' | 'url' | 'startNs' | 'outcome' | 'errorKind' | 'errorPhase'>} call
   * @param {Attempt[]} attempts
   * @param {number} endNs
   */
  constructor (call, attempts, endNs) {
    /** The id given with `withTimingId()`. */
    this.id = call.id
    this.method = call.method
    this.url = call.url
    /** @type {Outcome} */
    this.outcome = call.outcome ?? 'ok'
    this.errorKind = call.errorKind
    /** The phase in which the call failed. */
    this.errorPhase = call.errorPhase
    /** Wall clock at the start, ns since 1970 (exact to 256 ns). */
    this.startedAtUnixNs = unixNs(call.startNs)
    /** Monotonic clock at the start, ns. */
    this.startedAtMonoNs = call.startNs
    /** The whole call, ns. */
    this.totalNs = endNs - call.startNs
    /** One per try, in order. Empty when an interceptor such as undici's cache answered. @type {readonly Attempt[]} */
    this.attempts = Object.freeze(attempts)
    Object.freeze(this)
  }

  /** The last attempt; the properties below are its values. @returns {Attempt | undefined} */
  get last () { return this.attempts[this.attempts.length - 1] }
  get status () { return this.last?.status }
  get connId () { return this.last?.connId }
  get reused () { return this.last?.reused }
  get queueNs () { return this.last?.queueNs }
  get dnsNs () { return this.last?.dnsNs }
  get connectNs () { return this.last?.connectNs }
  get tlsNs () { return this.last?.tlsNs }
  get sendNs () { return this.last?.sendNs }
  get waitNs () { return this.last?.waitNs }
  get receiveNs () { return this.last?.receiveNs }
  get serverTiming () { return this.last?.serverTiming }
  get serverNs () { return this.last?.serverNs }
  get networkNs () { return this.last?.networkNs }

  /**
   * One line for a reader: `POST http://… 200 in 1.9 ms: connect 0.4, send 0.1, wait 1.2, receive 0.1; new conn 3`.
   * Its form: spec/testdata/README.md.
   */
  toString () {
    const { last } = this
    const phases = PHASES.map((phase) => [phase, last?.[`${phase}Ns`]]).filter(([, ns]) => ns !== undefined)
      .map(([phase, ns]) => `${phase} ${inMs(/** @type {number} */ (ns))}${phase === 'wait' ? split(last) : ''}`).join(', ')
    const connection = last?.connId === undefined ? '' : `; ${last.reused ? 'reused' : 'new'} conn ${last.connId}`
    const tries = this.attempts.length > 1 ? `; attempt ${this.attempts.length}` : ''
    return `${this.method} ${this.url} ${endOf(this)} in ${inMs(this.totalNs)} ms${phases === '' ? '' : `: ${phases}`}${connection}${tries}`
  }

  /**
   * The record for `JSON.stringify()`, with the names that all languages share (spec/schemas/timing-v1.schema.json) and with
   * the values of the last attempt beside those of the call.
   * @returns {Record<string, any>}
   */
  toJSON () {
    const shortcuts = Object.fromEntries(SHORTCUTS.map((name) => [name, this[name]]))
    // The moments of an attempt are not among the shared names.
    const attempts = this.attempts.map(({ startedAtMonoNs, requestStartMonoNs, responseStartMonoNs, ...shared }) => shared)
    return canonical({ ...this, ...shortcuts, attempts })
  }

  /** What `console.log()` shows. */
  [Symbol.for('nodejs.util.inspect.custom')] () { return this.toString() }
}

const SHORTCUTS = /** @type {const} */ (['status', 'connId', 'reused', 'queueNs', 'dnsNs', 'connectNs', 'tlsNs', 'sendNs', 'waitNs',
  'receiveNs', 'serverTiming', 'serverNs', 'networkNs'])

/**
 * @param {any} value of a record
 * @returns {any} with snake_case names, and without what is absent
 */
function canonical (value) {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object') return value
  const present = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(present.map(([name, each]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), canonical(each)]))
}

/** @param {number} ns */
function inMs (ns) {
  return (ns / 1e6).toFixed(1)
}

/** The parts of the wait, where the server gave its own. @param {Attempt | undefined} attempt */
function split (attempt) {
  const { serverNs, networkNs } = attempt ?? {}
  return serverNs === undefined || networkNs === undefined ? '' : ` = server ${inMs(serverNs)} + network ${inMs(networkNs)}`
}

/** @param {Timing} timing */
function endOf ({ status, outcome, errorKind, errorPhase }) {
  if (outcome === 'ok') return String(status ?? 'ok')
  const why = [outcome === 'cancelled' ? '' : errorKind, errorPhase === undefined ? '' : `in ${errorPhase}`].filter(Boolean).join(' ')
  return [status, outcome, why === '' ? '' : `(${why})`].filter(Boolean).join(' ')
}
