/** The state of one attempt while it runs, and its record. In the state, 0 and undefined mean: has not happened. */

import { parseServerTiming, serverNsOf } from './server-timing.js'

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./record.js').Outcome} Outcome */

export class AttemptState {
  queueEndNs = 0
  /** It has a connection. */
  acquired = false
  acquiredNs = 0
  /** @type {Connection | null} */
  connection = null
  /** The connection was made for this attempt, whose phases include its steps. */
  ownConnection = false
  reused = false
  /** @type {number | undefined} */
  idleNs = undefined
  connRequests = 0
  requestStartNs = 0
  requestEndNs = 0
  bytesSent = 0
  writes = 0
  /** The base library has passed the whole request to the socket. null: it does not say. @type {boolean | null} */
  sent = false
  /** What was written has been taken over from the connection. */
  captured = false
  firstByteNs = 0
  responseStartNs = 0
  responseEndNs = 0
  bytesReceived = 0
  /** @type {number | undefined} */
  status = undefined
  /** @type {string[] | null} the response's Server-Timing */
  serverTimingFields = null
  ended = false

  /**
   * @param {number} index
   * @param {number} startNs
   */
  constructor (index, startNs) {
    this.index = index
    this.startNs = startNs
  }

  /**
   * @param {Outcome} outcome
   * @param {number} now
   * @returns {import('./record.js').Attempt}
   */
  record (outcome, now) {
    return new AttemptRecord(this, outcome, now)
  }
}

/**
 * When things happened, for mappers: ns of the monotonic clock, 0 for what did not happen.
 * @typedef {object} Times
 * @property {number} startNs
 * @property {number} dnsStartNs
 * @property {number} dnsEndNs
 * @property {number} connectStartNs
 * @property {number} connectEndNs
 * @property {number} tlsStartNs
 * @property {number} tlsEndNs
 * @property {number} requestStartNs
 * @property {number} responseStartNs
 * @property {number} responseEndNs
 */

/** Shows durations only; the times in private fields are for the mappers. It holds no object that could hold a socket. */
class AttemptRecord {
  #startNs
  #requestStartNs
  #responseStartNs

  /**
   * @param {AttemptState} state
   * @param {Outcome} outcome
   * @param {number} now
   */
  constructor (state, outcome, now) {
    const { connection, acquired } = state
    const own = state.ownConnection ? connection : null
    this.index = state.index
    this.outcome = outcome
    this.status = state.status
    this.connId = acquired ? connection?.id : undefined
    this.reused = acquired ? state.reused : undefined
    this.idleNs = state.idleNs
    this.connRequests = acquired ? state.connRequests : undefined
    this.bytesSent = state.bytesSent || undefined
    this.writes = state.writes || undefined
    this.bytesReceived = state.responseStartNs === 0 ? undefined : state.bytesReceived
    this.queueNs = between(state.startNs, state.queueEndNs)
    this.dnsNs = own === null ? undefined : between(own.dnsStartNs, own.dnsEndNs)
    this.connectNs = own === null ? undefined : between(own.connectStartNs, own.connectEndNs)
    this.tlsNs = own === null ? undefined : between(own.tlsStartNs, own.tlsEndNs)
    this.sendNs = between(state.requestStartNs, state.requestEndNs)
    this.waitNs = between(state.requestEndNs, state.responseStartNs)
    this.receiveNs = between(state.responseStartNs, state.responseEndNs)
    const entries = state.serverTimingFields === null ? [] : parseServerTiming(state.serverTimingFields)
    this.serverTiming = entries.length === 0 ? undefined : entries
    this.serverNs = entries.length === 0 ? undefined : serverNsOf(entries, this.waitNs)
    this.networkNs = this.serverNs === undefined || this.waitNs === undefined ? undefined : this.waitNs - this.serverNs || undefined
    this.totalNs = now - state.startNs
    this.#startNs = state.startNs
    this.#requestStartNs = state.requestStartNs
    this.#responseStartNs = state.responseStartNs
  }

  /**
   * The steps of a connection follow the queue; each begins where the one before it ended.
   * @param {AttemptRecord} record
   * @returns {Times}
   */
  static times (record) {
    const { queueNs, dnsNs, connectNs, tlsNs, receiveNs } = record
    let at = record.#startNs + (queueNs ?? 0)
    /** @type {(ns: number | undefined) => [number, number]} */
    const step = (ns) => {
      if (ns === undefined) return [0, 0]
      at += ns
      return [at - ns, at]
    }
    const [dnsStartNs, dnsEndNs] = step(dnsNs)
    const [connectStartNs, connectEndNs] = step(connectNs)
    const [tlsStartNs, tlsEndNs] = step(tlsNs)
    return {
      startNs: record.#startNs,
      dnsStartNs,
      dnsEndNs,
      connectStartNs,
      connectEndNs,
      tlsStartNs,
      tlsEndNs,
      requestStartNs: record.#requestStartNs,
      responseStartNs: record.#responseStartNs,
      responseEndNs: receiveNs === undefined ? 0 : record.#responseStartNs + receiveNs
    }
  }
}

/**
 * @param {import('./record.js').Attempt} attempt of a record
 * @returns {Times}
 */
export function timesOf (attempt) {
  return AttemptRecord.times(/** @type {any} */ (attempt))
}

/**
 * @param {number} fromNs
 * @param {number} toNs
 * @returns {number | undefined}
 */
function between (fromNs, toNs) {
  return fromNs === 0 || toNs === 0 ? undefined : Math.max(0, toNs - fromNs)
}
