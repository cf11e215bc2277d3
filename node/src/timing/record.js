/** The finished record of a call (spec/events.yaml, `record`). A phase that did not happen is absent, never 0. */

import { unixNs } from './clock.js'

/** @typedef {'queue' | 'dns' | 'connect' | 'tls' | 'send' | 'wait' | 'receive' | 'total'} Phase */
/** @typedef {'ok' | 'error' | 'cancelled'} Outcome */

const PHASES = /** @type {const} */ (['queue', 'dns', 'connect', 'tls', 'send', 'wait', 'receive'])

/**
 * @typedef {object} Attempt
 * @property {number} index 0, 1, …
 * @property {Outcome} outcome
 * @property {number} [status] status code of the final response
 * @property {number} [connId] number of the connection, unique in this process
 * @property {boolean} [reused] true: the connection had carried a request before
 * @property {number} [idleNs] how long a reused connection had been idle, ns
 * @property {number} [connRequests] requests on this connection, this one included
 * @property {number} [bytesSent] head and body as handed to the socket (before TLS), bytes
 * @property {number} [writes] writes to the socket that carried the request
 * @property {number} [bytesReceived] body bytes of the response as read (before decompression)
 * @property {number} [queueNs] waiting for a connection, ns
 * @property {number} [dnsNs] name lookup, ns
 * @property {number} [connectNs] TCP handshake; behind a tunnelling proxy also the CONNECT exchange, ns
 * @property {number} [tlsNs] TLS handshake, ns
 * @property {number} [sendNs] first byte handed to the kernel until the last write returned, ns
 * @property {number} [waitNs] last write returned until the first byte of the final response was read, ns
 * @property {number} [receiveNs] first until last byte of the response, ns
 * @property {number} totalNs the whole attempt, ns
 * @property {import('./server-timing.js').ServerTiming[]} [serverTiming] entries of the response's Server-Timing
 * @property {number} [serverNs] the server's part of `waitNs` by its own account: its entry `total`, else its longest, ns
 * @property {number} [networkNs] the rest of `waitNs`: the network, proxies, queues before the server's clock starts, ns
 */

export class Timing {
  /**
   * @param {string | number | undefined} id
   * @param {string} method
   * @param {string} url
   * @param {number} startedAtMonoNs
   * @param {number} totalNs
   * @param {Attempt[]} attempts
   * @param {Outcome} outcome
   * @param {import('../errors.js').ErrorKind} [errorKind]
   * @param {Phase} [errorPhase]
   */
  constructor (id, method, url, startedAtMonoNs, totalNs, attempts, outcome, errorKind, errorPhase) {
    /** The id given with `withTimingId()`. */
    this.id = id
    this.method = method
    this.url = url
    this.outcome = outcome
    this.errorKind = errorKind
    /** The phase in which the call failed. */
    this.errorPhase = errorPhase
    /** Wall clock at the start, ns since 1970 (exact to 256 ns). */
    this.startedAtUnixNs = unixNs(startedAtMonoNs)
    /** Monotonic clock at the start, ns. */
    this.startedAtMonoNs = startedAtMonoNs
    /** The whole call, ns. */
    this.totalNs = totalNs
    /** One per try, in order. Empty when an interceptor such as undici's cache answered by itself. */
    this.attempts = attempts
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
      .map(([phase, ns]) => `${phase} ${inMs(/** @type {number} */ (ns))}${phase === 'wait' ? this.#split() : ''}`).join(', ')
    const connection = last?.connId === undefined ? '' : `; ${last.reused ? 'reused' : 'new'} conn ${last.connId}`
    const tries = this.attempts.length > 1 ? `; attempt ${this.attempts.length}` : ''
    return `${this.method} ${this.url} ${this.#end()} in ${inMs(this.totalNs)} ms${phases === '' ? '' : `: ${phases}`}${connection}${tries}`
  }

  /** The parts of the wait, where the server gave its own. */
  #split () {
    const { serverNs, networkNs } = this
    return serverNs === undefined || networkNs === undefined ? '' : ` = server ${inMs(serverNs)} + network ${inMs(networkNs)}`
  }

  #end () {
    const { status, outcome, errorKind, errorPhase } = this
    if (outcome === 'ok') return String(status ?? 'ok')
    const why = [outcome === 'cancelled' ? '' : errorKind, errorPhase === undefined ? '' : `in ${errorPhase}`].filter(Boolean).join(' ')
    return [status, outcome, why === '' ? '' : `(${why})`].filter(Boolean).join(' ')
  }

  /**
   * The record for `JSON.stringify()`, with the names that all languages share (spec/schemas/timing-v1.schema.json) and with
   * the values of the last attempt beside those of the call.
   * @returns {Record<string, any>}
   */
  toJSON () {
    const shortcuts = Object.fromEntries(SHORTCUTS.map((name) => [name, this[name]]))
    return canonical({ ...this, ...shortcuts })
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
