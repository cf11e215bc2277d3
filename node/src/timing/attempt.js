/** The notes of one attempt while it runs. 0, null and undefined mean "has not happened". */

/** @typedef {import('./connection.js').Connection} Connection */

export class LiveAttempt {
  queueEndNs = 0
  /** It has a connection. */
  acquired = false
  acquiredNs = 0
  /** Until the attempt ends, so that nothing that is kept holds a socket. @type {Connection | null} */
  connection = null
  /** @type {number | undefined} */
  connId = undefined
  connRequests = 0
  reused = false
  /** @type {number | undefined} */
  idleNs = undefined
  /** How its connection was made; null: not for this attempt. @type {import('./connection.js').Steps | null} */
  steps = null
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
  /** @type {import('./record.js').Outcome | null} */
  outcome = null
  endNs = 0

  /**
   * @param {number} index
   * @param {number} startNs
   */
  constructor (index, startNs) {
    this.index = index
    this.startNs = startNs
  }

  get ended () { return this.outcome !== null }
}
