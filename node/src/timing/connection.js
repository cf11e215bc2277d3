/** One connection: the steps in which it was made, and what was written for its present message. */

import net from 'node:net'
import { giveBackMethods, hide, replaceMethods } from '../patch.js'
import { nowNs } from './clock.js'

/** @typedef {import('./call.js').Call} Call */

let lastId = 0
/** On a socket: its connection. */
const kConnection = Symbol('onewrite connection')

/** How a connection was made. Times are ns; 0: the step has not happened. */
export class Steps {
  /** Message of the step that failed. @type {string | undefined} */
  error = undefined
  /** Removes the listeners for the steps. @type {(() => void) | null} */
  unfollow = null
  dnsStartNs = 0
  dnsEndNs = 0
  connectStartNs = 0
  connectEndNs = 0
  tlsStartNs = 0
  tlsEndNs = 0

  /**
   * @param {string} host name or address that is connected to
   * @param {string} peer `host:port`, or the path of a Unix socket
   * @param {boolean} secure TLS comes after TCP
   */
  constructor (host, peer, secure) {
    this.host = host
    this.peer = peer
    this.secure = secure
  }

  /** The step that began last. @returns {'dns' | 'connect' | 'tls'} */
  get last () { return this.tlsStartNs !== 0 ? 'tls' : this.connectStartNs !== 0 ? 'connect' : 'dns' }
}

/** After the end of a call nothing of it can be reached from here. */
export class Connection {
  /** The connection can carry requests. */
  ready = false
  /** HTTP/2: requests share it, so its writes belong to none of them. */
  multiplexed = false
  /** `host:port` of the proxy that it goes through. @type {string | undefined} */
  proxy = undefined
  requests = 0
  /** Attempts under way on it. */
  active = 0
  releasedNs = 0
  /** The attempt whose message is being written. @type {Call | null} */
  call = null
  /** @type {any} */
  socket = null
  firstWriteNs = 0
  lastWriteNs = 0
  writes = 0
  bytesOut = 0
  /** The kernel has not taken everything yet. */
  writing = false
  /** Length of the write under way, as Writable counts it. */
  inFlight = 0
  /** The methods of the socket that are replaced. @type {any} */
  originals = null

  /** @param {string} host @param {string} peer @param {boolean} secure see `Steps` */
  constructor (host, peer, secure) {
    this.id = ++lastId
    this.startNs = nowNs()
    /** Until it has carried a request. @type {Steps | null} */
    this.steps = new Steps(host, peer, secure)
    this.steps[net.isIP(host) === 0 ? 'dnsStartNs' : 'connectStartNs'] = this.startNs
  }

  /**
   * Listens for the steps of a socket that is still connecting. net and tls name them by events of the socket:
   * `lookup`, `connect`, `secureConnect`. The last of them removes all: no listener stays on a connected socket, also
   * where the request has gone.
   */
  follow (/** @type {any} */ socket) {
    const steps = /** @type {Steps} */ (this.steps)
    const onLookup = (/** @type {Error | null} */ error) => {
      if (steps.dnsStartNs === 0 || steps.dnsEndNs !== 0) return
      steps.dnsEndNs = nowNs()
      if (!error) steps.connectStartNs = steps.dnsEndNs
    }
    const onConnect = () => steps.secure ? this.connected() : this.opened()
    const onSecure = () => this.opened()
    socket.on('lookup', onLookup).on('connect', onConnect)
    if (steps.secure) socket.on('secureConnect', onSecure)
    steps.unfollow = () => socket.off('lookup', onLookup).off('connect', onConnect).off('secureConnect', onSecure)
  }

  /** The connector returns no socket before it is connected: its steps are not visible, and all of it is `connect`. */
  cannotFollow () {
    const { steps } = this
    if (steps === null || steps.connectEndNs !== 0) return
    steps.dnsStartNs = 0
    steps.connectStartNs = this.startNs
  }

  /** TCP is connected, or the proxy has opened its tunnel. */
  connected () {
    const { steps } = this
    if (steps === null || steps.connectEndNs !== 0) return
    steps.connectEndNs = nowNs()
    // Without an event of the socket the end of TCP is unknown: TLS is then part of `connect`.
    if (steps.secure && !this.ready) steps.tlsStartNs = steps.connectEndNs
  }

  /** The socket is connected, with TLS where wanted: a request comes next. */
  opened () {
    if (this.ready) return
    this.ready = true
    const { steps } = this
    if (steps?.connectStartNs === 0) this.cannotFollow()
    this.connected()
    if (steps !== null && steps.tlsStartNs !== 0) steps.tlsEndNs = nowNs()
    this.unfollow()
  }

  /** Removes the listeners for its steps. */
  unfollow () {
    const { steps } = this
    if (steps === null) return
    steps.unfollow?.()
    steps.unfollow = null
  }

  failed (/** @type {any} */ error) {
    this.unfollow()
    if (this.steps !== null) this.steps.error = textOf(error)
  }

  /**
   * @param {number} nowNs the end of an attempt that waits for this connection
   * @returns {Steps} the steps until then; the connection itself may go on, for another attempt
   */
  stepsUntil (nowNs) {
    const known = /** @type {Steps} */ (this.steps)
    const steps = Object.assign(new Steps(known.host, known.peer, known.secure), known, { unfollow: null })
    if (!this.ready) steps[`${steps.last}EndNs`] = nowNs
    return steps
  }

  /**
   * Counts the writes of this socket. Each call of its `_write` and `_writev` is one write to the kernel; `write` only
   * queues while the socket is corked. HTTP/2 frames its own writes.
   * @param {any} socket that carries the requests of this connection
   * @param {boolean} [reads] note also when it reads
   */
  attach (socket, reads = false) {
    this.multiplexed = socket.alpnProtocol === 'h2'
    /** @type {Connection | undefined} */
    const before = socket[kConnection]
    if (!hide(socket, kConnection, this)) return
    this.socket = socket
    if (this.multiplexed) return
    // The socket of a tunnel: its writes now belong to the connection through the tunnel.
    if (before !== undefined) this.originals = before.originals
    else this.originals = replaceMethods(socket, reads ? countedBothWays : counted)
  }

  /**
   * One call of the socket's `_write` or `_writev`.
   * @param {any} socket @param {any} data @param {any} encoding of `_write`
   * @param {(error?: Error | null) => void} callback to be called when the socket takes more
   * @param {number} bytes @param {number} length as Writable counts it
   */
  write (socket, data, encoding, callback, bytes, length) {
    this.inFlight = length || 1
    if (this.firstWriteNs === 0) this.firstWriteNs = nowNs()
    this.bytesOut += bytes
    this.writes++
    const done = (/** @type {Error | null | undefined} */ error) => {
      this.inFlight = 0
      // For a destroyed socket net calls back every write without an error, whether the kernel took it or not.
      if (this.writing && this.socket !== null && !this.socket.destroyed) {
        this.writing = false
        this.lastWriteNs = nowNs()
      }
      callback(error)
    }
    if (Array.isArray(data)) this.originals._writev.call(socket, data, done)
    else this.originals._write.call(socket, data, encoding, done)
    this.lastWriteNs = nowNs()
    if (this.inFlight === 0) {
      // It was called back: the kernel took all of it at once.
      this.writing = false
      return
    }
    // Under TLS the handle below has what libuv has not yet passed to the kernel: the TLS handle reports the end of a
    // write one turn later, when the response may have arrived.
    const handle = socket._handle
    this.writing = socket.connecting === true || socket.secureConnecting === true ||
      ((handle?._parent ?? handle)?.writeQueueSize ?? 0) > 0
  }
}

/** @param {any} error any value @returns {string} */
function textOf (error) {
  try {
    return String(error?.message || error?.code || error)
  } catch {
    return 'unknown'
  }
}

/** @param {any} socket @returns {Connection | null} null for a socket that was made elsewhere */
export function connectionOf (socket) { return socket?.[kConnection] ?? null }

/** Gives a socket its methods back: it is closed, upgraded, or carries a tunnel. @param {any} socket */
export function detach (socket) {
  const connection = connectionOf(socket)
  if (connection === null) return
  connection.call = null
  if (connection.originals !== null && !giveBackMethods(socket, connection.originals)) return
  connection.socket = null
  delete socket[kConnection]
}

/** The methods of a socket whose writes are counted. @type {Record<string, (this: any, ...args: any[]) => any>} */
const counted = {
  _write (chunk, encoding, callback) {
    const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength
    this[kConnection].write(this, chunk, encoding, callback, bytes, chunk.length)
  },
  _writev (chunks, callback) {
    let bytes = 0
    let length = 0
    for (const { chunk, encoding } of chunks) {
      bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength
      length += chunk.length
    }
    this[kConnection].write(this, chunks, null, callback, bytes, length)
  }
}

/** A listener for 'data' would start the flow. @this {any} @param {any} chunk @param {any} encoding */
function push (chunk, encoding) {
  const connection = this[kConnection]
  const { call, originals } = connection
  if (call === null || chunk === null) return originals.push.call(this, chunk, encoding)
  if (call.firstByteNs === 0) call.firstByteNs = nowNs()
  const more = originals.push.call(this, chunk, encoding)
  call.readOn()
  return more
}

/** The same where reads are noted. @type {typeof counted} */
const countedBothWays = { ...counted, push }
