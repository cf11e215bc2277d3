/**
 * The record of a call (spec/events.yaml, `record`): views that read what was noted while it ran. They have no setters,
 * so each hook gets the same. Nothing of the base library can be reached from them.
 */

import { nowNs, unixNs } from './clock.js'
import { urlOf } from './redact.js'

/** @typedef {import('./call.js').Call} Call */
/** @typedef {'queue' | 'dns' | 'connect' | 'tls' | 'send' | 'wait' | 'receive' | 'total'} Phase */
/** @typedef {'ok' | 'error' | 'cancelled'} Outcome */

const PHASES = /** @type {const} */ (['queue', 'dns', 'connect', 'tls', 'send', 'wait', 'receive'])
/** @type {(keyof Timing)[]} */
const OF_CALL = ['id', 'method', 'url', 'outcome', 'errorKind', 'errorPhase', 'startedAtUnixNs', 'startedAtMonoNs',
  'totalNs']
/** Values of the last attempt, which the record of the call has too. @type {(keyof Attempt & keyof Timing)[]} */
const SHORTCUTS = ['status', 'connId', 'reused', 'proxy',
  'queueNs', 'dnsNs', 'connectNs', 'tlsNs', 'sendNs', 'waitNs', 'receiveNs']
/** @type {(keyof Attempt)[]} */
const OF_ATTEMPT = ['index', 'outcome', 'status', 'connId', 'reused', 'queueNs', 'dnsNs', 'connectNs', 'tlsNs',
  'sendNs', 'waitNs', 'receiveNs', 'idleNs', 'connRequests', 'proxy', 'bytesSent', 'writes', 'bytesReceived', 'totalNs']

/** @type {(values: Values) => Call} */
let callOf

/** What an attempt has, and the record of a call from its last attempt. A phase that did not happen is absent. */
class Values {
  #call

  /** @internal @param {Call} call */
  constructor (call) { this.#call = call }

  static { callOf = (values) => values.#call }

  /** @returns {Call | undefined} */
  get #attempt () { return this instanceof Timing ? this.#call.lastAttempt : this.#call }
  /** Status code of the final response. */
  get status () { return this.#attempt?.status }
  /** Number of the connection, unique in this thread. */
  get connId () { return this.#attempt?.connId }
  /** True: the connection had carried a request before. */
  get reused () { return this.#attempt?.reused }
  /** `host:port` of the proxy through which the connection goes, or would have gone. */
  get proxy () { return this.#attempt?.proxy }
  /** Waiting for a connection, ns. */
  get queueNs () { return phase(this.#attempt, 'queue') }
  /** Name lookup, ns. */
  get dnsNs () { return phase(this.#attempt, 'dns') }
  /** TCP handshake; behind a tunnelling proxy also the CONNECT exchange, ns. */
  get connectNs () { return phase(this.#attempt, 'connect') }
  /** TLS handshake, ns. */
  get tlsNs () { return phase(this.#attempt, 'tls') }
  /** First byte handed to the kernel until the last write returned, ns. */
  get sendNs () { return phase(this.#attempt, 'send') }
  /** Last write returned until the first byte of the final response was read, ns. */
  get waitNs () { return phase(this.#attempt, 'wait') }
  /** First until last byte of the response, ns. */
  get receiveNs () { return phase(this.#attempt, 'receive') }
}

/** One try of a call. */
export class Attempt extends Values {
  /** 0, 1, … */
  get index () { return callOf(this).index }
  /** Absent while it runs. */
  get outcome () { return /** @type {Outcome} */ (callOf(this).outcome) }
  /** The phase in which it failed. */
  get errorPhase () { return callOf(this).errorPhase }
  /** How long a reused connection had been idle, ns. */
  get idleNs () { return callOf(this).idleNs }
  /** Requests on this connection, this one included. */
  get connRequests () { return callOf(this).connRequests }
  /** Head and body as passed to the socket (before TLS), bytes. */
  get bytesSent () { return callOf(this).bytesSent }
  /** Writes to the socket that carried the request. */
  get writes () { return callOf(this).writes }
  /** Body bytes of the response as read (before decompression). */
  get bytesReceived () { return callOf(this).responseStartNs === 0 ? undefined : callOf(this).bytesReceived }
  /** The whole attempt, ns; absent while it runs. */
  get totalNs () { return phase(callOf(this), 'total') }
  /** What `console.log()` shows. */
  [Symbol.for('nodejs.util.inspect.custom')] () { return canonical(this, OF_ATTEMPT) }
}

export class Timing extends Values {
  /** The id given with `withTimingId()`. */
  get id () { return callOf(this).id }
  get method () { return callOf(this).method }
  /** Without passwords and secrets of the query. */
  get url () { return urlOf(callOf(this).origin, callOf(this).path) }
  /** As the caller saw it; absent while the call runs. */
  get outcome () { return /** @type {Outcome} */ (callOf(this).closed ? callOf(this).outcome : undefined) }
  get errorKind () { return callOf(this).errorKind }
  /** The phase in which the call failed. */
  get errorPhase () { return callOf(this).errorPhase }
  /** The final status that the caller got, or that of the last attempt. @returns {number | undefined} */
  get status () { return callOf(this).status ?? super.status }
  /** Wall clock at the start, ns since 1970 (exact to 256 ns). */
  get startedAtUnixNs () { return unixNs(callOf(this).startNs) }
  /** Monotonic clock at the start, ns. */
  get startedAtMonoNs () { return callOf(this).startNs }
  /** The whole call, ns; until now while it runs. */
  get totalNs () { return (callOf(this).closed ? callOf(this).endNs : nowNs()) - callOf(this).startNs }

  /** One per try, in order. Empty when an interceptor such as undici's cache answered. @returns {readonly Attempt[]} */
  get attempts () {
    const calls = callOf(this).attempts ?? [callOf(this)]
    return Object.freeze(calls.map((call) => (call.view ??= new Attempt(call))))
  }

  /** The last attempt. @returns {Attempt | undefined} */
  get last () {
    return this.attempts.at(-1)
  }

  /**
   * One line for a reader: `POST http://… 200 in 1.9 ms: connect 0.4, send 0.1, wait 1.2, receive 0.1; new conn 3`.
   * Its form: spec/testdata/README.md.
   */
  toString () {
    const { last, totalNs, proxy } = this
    const phases = PHASES.filter((name) => last?.[`${name}Ns`] !== undefined)
      .map((name) => `${name} ${inMs(last?.[`${name}Ns`] ?? 0)}`).join(', ')
    const connection = last?.connId === undefined ? '' : `; ${last.reused ? 'reused' : 'new'} conn ${last.connId}`
    const tries = this.attempts.length > 1 ? `; attempt ${this.attempts.length}` : ''
    const through = proxy === undefined ? '' : ` via proxy ${proxy}`
    const times = `${inMs(totalNs)} ms${through}${phases === '' ? '' : `: ${phases}`}`
    return `${this.method} ${this.url} ${result(this)} in ${times}${connection}${tries}`
  }

  /**
   * The record for `JSON.stringify()`, with the names that all languages share (spec/schemas/timing-v1.schema.json) and
   * with the values of the last attempt beside those of the call.
   */
  toJSON () {
    const attempts = this.attempts.map((attempt) => canonical(attempt, OF_ATTEMPT))
    return { ...canonical(this, [...OF_CALL, ...SHORTCUTS]), attempts }
  }

  /** What `console.log()` shows. */
  [Symbol.for('nodejs.util.inspect.custom')] () { return this.toString() }
}

/**
 * @param {Call | undefined} attempt
 * @param {Phase} name of a phase; one in which the attempt failed lasts until the end of the attempt
 * @returns {number | undefined} ns
 */
function phase (attempt, name) {
  if (attempt === undefined) return undefined
  const [fromNs, untilNs] = moments(attempt, name)
  const toNs = untilNs || (name === attempt.errorPhase ? attempt.endNs : 0)
  return !fromNs || !toNs ? undefined : Math.max(0, toNs - fromNs)
}

/** @param {Call} call @param {Phase} name @returns {[number | undefined, number | undefined]} 0: it did not come */
function moments (call, name) {
  const { steps } = call
  switch (name) {
    case 'queue': return [call.startNs, call.queueEndNs]
    case 'dns': return [steps?.dnsStartNs, steps?.dnsEndNs]
    case 'connect': return [steps?.connectStartNs, steps?.connectEndNs]
    case 'tls': return [steps?.tlsStartNs, steps?.tlsEndNs]
    case 'send': return [call.requestStartNs, call.requestEndNs]
    case 'wait': return [call.requestEndNs, call.responseStartNs]
    case 'receive': return [call.responseStartNs, call.responseEndNs]
    default: return [call.startNs, call.endNs]
  }
}

/** @param {any} record @param {readonly string[]} names @returns {Record<string, any>} without what is absent */
function canonical (record, names) {
  /** @type {Record<string, any>} */
  const values = {}
  for (const name of names) {
    const value = record[name]
    if (value !== undefined) values[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = value
  }
  return values
}

/** @param {number} ns */
function inMs (ns) { return (ns / 1e6).toFixed(1) }

/** @param {Timing} timing */
function result ({ status, outcome, errorKind, errorPhase }) {
  if (outcome === 'ok' || outcome === undefined) return String(status ?? 'ok')
  const kind = outcome === 'cancelled' ? '' : errorKind
  const why = [kind, errorPhase === undefined ? '' : `in ${errorPhase}`].filter(Boolean).join(' ')
  return [status, outcome, why === '' ? '' : `(${why})`].filter(Boolean).join(' ')
}
