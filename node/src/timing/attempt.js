/**
 * One try of a call: the moments noted while it runs, and the phases between them. A phase that did not happen is
 * absent.
 */

/** @typedef {'queue' | 'dns' | 'connect' | 'tls' | 'send' | 'wait' | 'receive' | 'total'} Phase */
/** @typedef {'ok' | 'error' | 'cancelled'} Outcome */

export class Attempt {
  /** Absent while it runs. @type {Outcome} */
  outcome = /** @type {any} */ (undefined)
  /** The phase in which it failed. @type {Phase | undefined} */
  errorPhase = undefined
  /** Status code of the final response. @type {number | undefined} */
  status = undefined
  /** Number of the connection, unique in this process. @type {number | undefined} */
  connId = undefined
  /** True: the connection had carried a request before. @type {boolean | undefined} */
  reused = undefined
  /** How long a reused connection had been idle, ns. @type {number | undefined} */
  idleNs = undefined
  /** Requests on this connection, this one included. @type {number | undefined} */
  connRequests = undefined
  /** Head and body as passed to the socket (before TLS), bytes. @type {number | undefined} */
  bytesSent = undefined
  /** Writes to the socket that carried the request. @type {number | undefined} */
  writes = undefined
  /** Body bytes of the response as read (before decompression). @type {number | undefined} */
  bytesReceived = undefined
  /** When its own connection was made, step by step. @type {import('./connection.js').Steps | undefined} */
  steps = undefined
  // Moments of the monotonic clock, ns.
  /** It had a connection, or its own connection was begun. @type {number | undefined} */
  queueEndMonoNs = undefined
  /** The first byte was handed to the kernel. @type {number | undefined} */
  requestStartMonoNs = undefined
  /** The last write returned. @type {number | undefined} */
  requestEndMonoNs = undefined
  /** The first byte of the final response was read. @type {number | undefined} */
  responseStartMonoNs = undefined
  /** The last byte of the response was read. @type {number | undefined} */
  responseEndMonoNs = undefined
  /** It ended. @type {number | undefined} */
  endedAtMonoNs = undefined

  /** @param {number} index 0, 1, … @param {number} startedAtMonoNs */
  constructor (index, startedAtMonoNs) {
    this.index = index
    this.startedAtMonoNs = startedAtMonoNs
  }

  /** Waiting for a connection, ns. */
  get queueNs () { return this.#phase('queue', this.startedAtMonoNs, this.queueEndMonoNs) }
  /** Name lookup, ns. */
  get dnsNs () { return this.#phase('dns', this.steps?.dnsStartNs, this.steps?.dnsEndNs) }
  /** TCP handshake; behind a tunnelling proxy also the CONNECT exchange, ns. */
  get connectNs () { return this.#phase('connect', this.steps?.connectStartNs, this.steps?.connectEndNs) }
  /** TLS handshake, ns. */
  get tlsNs () { return this.#phase('tls', this.steps?.tlsStartNs, this.steps?.tlsEndNs) }
  /** First byte handed to the kernel until the last write returned, ns. */
  get sendNs () { return this.#phase('send', this.requestStartMonoNs, this.requestEndMonoNs) }
  /** Last write returned until the first byte of the final response was read, ns. */
  get waitNs () { return this.#phase('wait', this.requestEndMonoNs, this.responseStartMonoNs) }
  /** First until last byte of the response, ns. */
  get receiveNs () { return this.#phase('receive', this.responseStartMonoNs, this.responseEndMonoNs) }
  /** The whole attempt, ns; absent while it runs. */
  get totalNs () { return this.#phase('total', this.startedAtMonoNs, this.endedAtMonoNs) }

  /**
   * @param {Phase} phase one in which the attempt failed lasts until the end of the attempt
   * @param {number | undefined} fromNs 0 or absent: it did not begin
   * @param {number | undefined} toNs 0 or absent: it did not end
   */
  #phase (phase, fromNs, toNs) {
    if (!toNs && phase === this.errorPhase) toNs = this.endedAtMonoNs
    return !fromNs || !toNs ? undefined : Math.max(0, toNs - fromNs)
  }
}
