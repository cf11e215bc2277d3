/** One connection: the steps in which it was made, and what was written for its present message. */

import net from 'node:net'
import { Patch } from '../patch.js'
import { nowNs } from './clock.js'

let lastId = 0
const kConnection = Symbol('onewrite connection')

/** When a connection was made, ns; 0: the step has not happened. */
export class Steps {
  dnsStartNs = 0
  dnsEndNs = 0
  connectStartNs = 0
  connectEndNs = 0
  tlsStartNs = 0
  tlsEndNs = 0

  /** The step that began last. @returns {'dns' | 'connect' | 'tls'} */
  get last () { return this.tlsStartNs !== 0 ? 'tls' : this.connectStartNs !== 0 ? 'connect' : 'dns' }
}

export class Connection {
  /** The connection can carry requests. */
  ready = false
  /** HTTP/2: requests share it, so its writes belong to none of them. */
  multiplexed = false
  /** Message of the step that failed. @type {string | undefined} */
  error = undefined
  requests = 0
  /** Attempts under way on it. */
  active = 0
  releasedNs = 0
  /** The call whose message is being written. @type {import('./call.js').Call | null} */
  call = null
  /**
   * The request that has this connection, where its carrier takes part.
   * @type {{socketDestroyed: () => void} | null}
   */
  carrier = null
  /** @type {any} */
  socket = null
  firstWriteNs = 0
  lastWriteNs = 0
  writes = 0
  bytesOut = 0
  /** The kernel has not taken everything yet. */
  writing = false
  /** Removes the listeners for the steps. @type {(() => void) | null} */
  #unfollow = null

  /** @param {string} host name or address that is connected to @param {boolean} secure TLS comes after TCP */
  constructor (host, secure) {
    this.id = ++lastId
    this.host = host
    this.secure = secure
    this.startNs = nowNs()
    this.steps = new Steps()
    this.steps[net.isIP(host) === 0 ? 'dnsStartNs' : 'connectStartNs'] = this.startNs
  }

  /**
   * Listens for the steps of a socket that is still connecting. net and tls name them by events of the socket:
   * `lookup`, `connect`, `secureConnect`. No listener stays on a connected socket.
   */
  follow (socket) {
    const { steps } = this
    const onLookup = (/** @type {Error | null} */ error) => {
      if (steps.dnsStartNs === 0 || steps.dnsEndNs !== 0) return
      steps.dnsEndNs = nowNs()
      if (!error) steps.connectStartNs = steps.dnsEndNs
    }
    const onConnect = () => this.connected()
    const onSecure = () => this.#secured()
    socket.on('lookup', onLookup).on('connect', onConnect)
    if (this.secure) socket.on('secureConnect', onSecure)
    this.#unfollow = () => socket.off('lookup', onLookup).off('connect', onConnect).off('secureConnect', onSecure)
  }

  /** The connector returns no socket before it is connected: its steps are not visible, and all of it is `connect`. */
  cannotFollow () {
    const { steps } = this
    if (steps.connectEndNs !== 0) return
    steps.dnsStartNs = 0
    steps.connectStartNs = this.startNs
  }

  /** TCP is connected, or the proxy has opened its tunnel. */
  connected () {
    const { steps } = this
    if (steps.connectEndNs !== 0) return
    steps.connectEndNs = nowNs()
    // Without an event of the socket the end of TCP is unknown: TLS is then part of `connect`.
    if (this.secure && !this.ready) steps.tlsStartNs = steps.connectEndNs
  }

  #secured () {
    const { steps } = this
    if (steps.tlsStartNs !== 0 && steps.tlsEndNs === 0) steps.tlsEndNs = nowNs()
  }

  /** The socket is connected, with TLS where wanted: a request comes next. */
  opened () {
    if (this.ready) return
    this.ready = true
    if (this.steps.connectStartNs === 0) this.cannotFollow()
    this.connected()
    this.#secured()
    this.#unfollow?.()
    this.#unfollow = null
  }

  failed (error) {
    try {
      this.error = String(error?.message || error?.code || error)
    } catch {
      this.error = 'unknown'
    }
    this.#unfollow?.()
    this.#unfollow = null
  }

  /**
   * @param {number} nowNs the end of an attempt that waits for this connection
   * @returns {Steps} the steps until then; the connection itself may go on, for another attempt
   */
  stepsUntil (nowNs) {
    const steps = Object.assign(new Steps(), this.steps)
    if (!this.ready) steps[`${steps.last}EndNs`] = nowNs
    return steps
  }

  /** The next write begins a new message. */
  resetWrites () {
    this.firstWriteNs = this.lastWriteNs = this.writes = this.bytesOut = 0
    this.writing = false
  }

  /**
   * Counts the writes of this socket. Each call of its `_write` and `_writev` is one write to the kernel; `write` only
   * queues while the socket is corked. HTTP/2 frames its own writes.
   * @param {any} socket that carries the requests of this connection
   * @param {boolean} [reads] the carrier gets what the socket reads, and its end
   */
  attach (socket, reads = false) {
    this.socket = socket
    this.multiplexed = socket.alpnProtocol === 'h2'
    socket[kConnection] = this
    if (this.multiplexed || typeof socket._write !== 'function') return
    /** @type {Watch | undefined} */
    const watch = socket[kWatch]
    // The socket of a tunnel that has been watched: its writes now belong to the connection through the tunnel.
    if (watch !== undefined) watch.connection = this
    else socket[kWatch] = new Watch(this, socket, reads ? watchedBothWays : watched)
  }
}

/** @returns {Connection | null} null for a socket that was made elsewhere */
export function connectionOf (socket) {
  return socket?.[kConnection] ?? null
}

/** Gives a socket its methods back: it is upgraded, or carries a tunnel. */
export function detach (socket) {
  delete socket[kConnection]
  if (socket[kWatch]?.remove()) delete socket[kWatch]
}

const kWatch = Symbol('onewrite watch')

/** Watches one socket. A stream has at most one write under way. */
class Watch extends Patch {
  /** The callback of the write under way. @type {any} */
  callback = null

  constructor (connection, socket, methods) {
    super(socket, methods)
    this.connection = connection
    this.done = (error) => {
      const { callback, connection } = this
      this.callback = null
      // For a destroyed socket net calls back every write without an error, whether the kernel took it or not.
      if (connection.writing && !socket.destroyed) {
        connection.writing = false
        connection.lastWriteNs = nowNs()
      }
      callback(error)
    }
  }

  before (bytes, callback) {
    const { connection } = this
    this.callback = callback
    if (connection.firstWriteNs === 0) connection.firstWriteNs = nowNs()
    connection.bytesOut += bytes
    connection.writes++
  }

  after (socket) {
    const { connection } = this
    connection.lastWriteNs = nowNs()
    // Without a callback the write is done: the kernel took all of it at once.
    connection.writing = this.callback !== null &&
      (socket.connecting === true || socket.secureConnecting === true || unsent(socket._handle) > 0)
  }
}

/** The methods of a socket that is watched. @type {Record<string, (this: any, ...args: any[]) => any>} */
const watched = {
  _write (chunk, encoding, callback) {
    /** @type {Watch} */
    const watch = this[kWatch]
    watch.before(sizeOf(chunk, encoding), callback)
    watch.originals._write.call(this, chunk, encoding, watch.done)
    watch.after(this)
  },
  _writev (chunks, callback) {
    /** @type {Watch} */
    const watch = this[kWatch]
    let bytes = 0
    for (const { chunk, encoding } of chunks) bytes += sizeOf(chunk, encoding)
    watch.before(bytes, callback)
    watch.originals._writev.call(this, chunks, watch.done)
    watch.after(this)
  }
}

/** The same for a carrier that gets what the socket reads. @type {typeof watched} */
const watchedBothWays = {
  ...watched,
  push (chunk, encoding) {
    const { connection, originals } = this[kWatch]
    if (chunk !== null) connection.call?.read()
    return originals.push.call(this, chunk, encoding)
  },
  _destroy (error, callback) {
    const { connection, originals } = this[kWatch]
    connection.carrier?.socketDestroyed()
    return originals._destroy.call(this, error, callback)
  }
}

function sizeOf (chunk, encoding) {
  if (typeof chunk !== 'string') return chunk.byteLength
  return encoding === 'latin1' || encoding === 'binary' ? chunk.length : Buffer.byteLength(chunk, encoding)
}

/**
 * Bytes that libuv has not yet passed to the kernel. Under TLS the handle below has them: the TLS handle reports the
 * end of a write one turn later, when the response may have arrived.
 */
function unsent (handle) {
  return (handle?._parent ?? handle)?.writeQueueSize ?? 0
}
