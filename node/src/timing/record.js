/**
 * The record of a call (spec/events.yaml, `record`). The object that takes the times is the object that hooks get: it
 * is filled while the call runs (call.js) and frozen at its end. It holds nothing of the base library.
 */

import { nowNs, unixNs } from './clock.js'
import { redactUrl, urlOf } from './redact.js'

/** @typedef {import('./attempt.js').Attempt} Attempt */
/** @typedef {import('./attempt.js').Outcome} Outcome */
/** @typedef {import('./attempt.js').Phase} Phase */

const PHASES = /** @type {const} */ (['queue', 'dns', 'connect', 'tls', 'send', 'wait', 'receive'])
/** @type {(keyof Timing)[]} */
const OF_CALL = ['method', 'url', 'outcome', 'errorKind', 'errorPhase', 'startedAtUnixNs', 'startedAtMonoNs', 'totalNs']
/** Values of the last attempt, which the record of the call has too. @type {(keyof Attempt & keyof Timing)[]} */
const SHORTCUTS = ['status', 'connId', 'reused',
  'queueNs', 'dnsNs', 'connectNs', 'tlsNs', 'sendNs', 'waitNs', 'receiveNs']
/** @type {(keyof Attempt)[]} */
const OF_ATTEMPT = ['index', 'outcome', ...SHORTCUTS, 'idleNs', 'connRequests',
  'bytesSent', 'writes', 'bytesReceived', 'totalNs']

export class Timing {
  /** Absent while the call runs. @type {Outcome} */
  outcome = /** @type {any} */ (undefined)
  /** @type {import('../errors.js').ErrorKind | undefined} */
  errorKind = undefined
  /** The phase in which the call failed. @type {Phase | undefined} */
  errorPhase = undefined
  /** Monotonic clock at the end, ns. @type {number | undefined} */
  endedAtMonoNs = undefined
  #origin
  #path
  /** @type {Attempt[]} */
  #attempts

  constructor (id, method, origin, path, startedAtMonoNs, attempts) {
    /** The id given with `withTimingId()`. @type {string | number | undefined} */
    this.id = id
    /** @type {string} */
    this.method = method
    this.#origin = origin
    this.#path = path
    /** Monotonic clock at the start, ns. @type {number} */
    this.startedAtMonoNs = startedAtMonoNs
    this.#attempts = attempts
  }

  /**
   * One per try, in order. Empty when an interceptor such as undici's cache answered.
   * @returns {readonly Attempt[]}
   */
  get attempts () {
    // Frozen when read, because most hooks read only the phases.
    if (this.outcome !== undefined && !Object.isFrozen(this.#attempts)) {
      Object.freeze(this.#attempts).forEach(Object.freeze)
    }
    return this.#attempts
  }

  get #last () { return this.#attempts[this.#attempts.length - 1] }

  /** Without passwords and signatures. */
  get url () { return redactUrl(urlOf(this.#origin, this.#path)) }
  /** Wall clock at the start, ns since 1970 (exact to 256 ns). */
  get startedAtUnixNs () { return unixNs(this.startedAtMonoNs) }
  /** The whole call, ns; until now while it runs. */
  get totalNs () { return (this.endedAtMonoNs ?? nowNs()) - this.startedAtMonoNs }
  /** The last attempt; the properties below are its values. @returns {Attempt | undefined} */
  get last () { return this.attempts[this.attempts.length - 1] }
  get status () { return this.#last?.status }
  get connId () { return this.#last?.connId }
  get reused () { return this.#last?.reused }
  get queueNs () { return this.#last?.queueNs }
  get dnsNs () { return this.#last?.dnsNs }
  get connectNs () { return this.#last?.connectNs }
  get tlsNs () { return this.#last?.tlsNs }
  get sendNs () { return this.#last?.sendNs }
  get waitNs () { return this.#last?.waitNs }
  get receiveNs () { return this.#last?.receiveNs }

  /**
   * One line for a reader: `POST http://… 200 in 1.9 ms: connect 0.4, send 0.1, wait 1.2, receive 0.1; new conn 3`.
   * Its form: spec/testdata/README.md.
   */
  toString () {
    const { last, totalNs } = this
    const phases = PHASES.filter((phase) => last?.[`${phase}Ns`] !== undefined)
      .map((phase) => `${phase} ${inMs(last?.[`${phase}Ns`] ?? 0)}`).join(', ')
    const connection = last?.connId === undefined ? '' : `; ${last.reused ? 'reused' : 'new'} conn ${last.connId}`
    const tries = this.attempts.length > 1 ? `; attempt ${this.attempts.length}` : ''
    const times = `${inMs(totalNs)} ms${phases === '' ? '' : `: ${phases}`}`
    return `${this.method} ${this.url} ${result(this)} in ${times}${connection}${tries}`
  }

  /**
   * The record for `JSON.stringify()`, with the names that all languages share (spec/schemas/timing-v1.schema.json) and
   * with the values of the last attempt beside those of the call.
   */
  toJSON () {
    const attempts = this.attempts.map((attempt) => canonical(attempt, OF_ATTEMPT))
    return { ...canonical(this, ['id', ...OF_CALL, ...SHORTCUTS]), attempts }
  }

  /** What `console.log()` shows. */
  [Symbol.for('nodejs.util.inspect.custom')] () { return this.toString() }
}

/** @returns {Record<string, any>} these values by their snake_case names, without what is absent */
function canonical (record, names) {
  /** @type {Record<string, any>} */
  const values = {}
  for (const name of names) {
    const value = record[name]
    if (value !== undefined) values[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = value
  }
  return values
}

function inMs (ns) { return (ns / 1e6).toFixed(1) }

function result ({ status, outcome, errorKind, errorPhase }) {
  if (outcome === 'ok' || outcome === undefined) return String(status ?? 'ok')
  const kind = outcome === 'cancelled' ? '' : errorKind
  const why = [kind, errorPhase === undefined ? '' : `in ${errorPhase}`].filter(Boolean).join(' ')
  return [status, outcome, why === '' ? '' : `(${why})`].filter(Boolean).join(' ')
}
