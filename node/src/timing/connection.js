/** The notes of one connection: its steps, and what was written for its present message. */

import net from 'node:net'
import { nowNs } from './clock.js'

let lastId = 0

/** When a connection was made, ns; 0: the step has not happened. */
export class Steps {
  dnsEndNs = 0
  connectEndNs = 0
  tlsStartNs = 0
  tlsEndNs = 0

  /** @param {number} startNs @param {boolean} lookup it begins with a name lookup */
  constructor (startNs, lookup) {
    this.dnsStartNs = lookup ? startNs : 0
    this.connectStartNs = lookup ? 0 : startNs
  }
}

export class Connection {
  /**
   * @param {string} host name or address that is connected to
   * @param {boolean} secure TLS comes after TCP
   * @param {number | undefined} port
   * @param {import('./hooks.js').Hooks} hooks
   */
  constructor (host, secure, port, hooks) {
    this.id = ++lastId
    this.host = host
    this.port = port
    this.secure = secure
    /** Their observer is told of the connection. */
    this.hooks = hooks
    this.startNs = nowNs()
    this.steps = new Steps(this.startNs, net.isIP(host) === 0)
    /** @type {string | undefined} message of the step that failed */
    this.error = undefined
    /** It can carry requests. */
    this.isReady = false
    this.requests = 0
    /** Attempts under way on it. */
    this.active = 0
    this.releasedNs = 0
    /** @type {any} */
    this.socket = null
    /** @type {import('./call.js').Call | null} the call whose message is being written */
    this.call = null
    this.firstWriteNs = 0
    this.lastWriteNs = 0
    this.writes = 0
    this.bytesOut = 0
    /** The kernel has not taken everything yet. */
    this.writing = false
  }

  /** The kernel has taken what it could not take at once. */
  lateWrite () {
    this.writing = false
    this.lastWriteNs = nowNs()
  }

  /** The name of the step that was begun last. */
  lastStep () {
    const { tlsStartNs, connectStartNs } = this.steps
    return tlsStartNs !== 0 ? 'tls' : connectStartNs !== 0 ? 'connect' : 'dns'
  }

  resetWrites () {
    this.firstWriteNs = 0
    this.lastWriteNs = 0
    this.writes = 0
    this.bytesOut = 0
    this.writing = false
  }

  /**
   * Listens for the steps of a socket that is still connecting. net and tls name them by events of the socket:
   * `lookup`, `connect`, `secureConnect`.
   * @param {any} socket
   */
  follow (socket) {
    const { steps } = this
    socket.once('lookup', (/** @type {Error | null} */ error) => {
      if (steps.dnsStartNs === 0 || steps.dnsEndNs !== 0) return
      steps.dnsEndNs = nowNs()
      if (!error) steps.connectStartNs = steps.dnsEndNs
    })
    socket.once('connect', () => this.connected())
    if (this.secure) socket.once('secureConnect', () => this.secured())
  }

  /** The connector returns no socket before it is connected, so its steps cannot be told apart: all of it is `connect`. */
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
    // Called by `ready()`, it means that no event of the socket told where TCP ended: TLS is then part of `connect`.
    if (this.secure && !this.isReady) steps.tlsStartNs = steps.connectEndNs
  }

  secured () {
    const { steps } = this
    if (steps.tlsStartNs !== 0 && steps.tlsEndNs === 0) steps.tlsEndNs = nowNs()
  }

  /** The socket is connected, with TLS where wanted: a request comes next. */
  ready () {
    if (this.isReady) return
    this.isReady = true
    if (this.steps.connectStartNs === 0) this.cannotFollow()
    this.connected()
    this.secured()
    this.#open()
  }

  /** @param {any} socket that carries the requests of this connection */
  attach (socket) {
    this.socket = socket
    socket[kConnection] = this
    this.watchWrites(socket)
    this.#open()
  }

  /** Tells the observer when both are there: readiness and the socket. */
  #open () {
    const { isReady, socket, hooks } = this
    // A user's own socket, or a mock, may have no event for its end.
    if (hooks.observers.length === 0 || !isReady || typeof socket?.once !== 'function') return
    socket.once('close', () => hooks.connection('closed', this))
    hooks.connection('opened', this)
  }

  /** @param {any} error */
  failed (error) {
    this.error = String(error?.message || error?.code || error)
    const now = nowNs()
    const { steps } = this
    if (steps.tlsStartNs !== 0) steps.tlsEndNs = now
    else if (steps.connectStartNs !== 0) steps.connectEndNs = now
    else if (steps.dnsEndNs === 0) steps.dnsEndNs = now
  }

  /**
   * Patches `_write` and `_writev` of this socket, because each call of them is one write to the kernel.
   * Not `write`, which only queues while the socket is corked. Only sockets of an agent with hooks are patched.
   * @param {any} socket
   */
  watchWrites (socket) {
    if (typeof socket._write !== 'function') return
    /** @type {WriteWatch | undefined} */
    const watching = socket[kWatch]
    // The socket of a tunnel: from now on its writes belong to the connection through the tunnel.
    if (watching !== undefined) {
      watching.connection = this
      return
    }
    const watch = new WriteWatch(this, socket)
    socket[kWatch] = watch
    socket._write = write
    if (watch.writev !== undefined) socket._writev = writev
  }
}

const kConnection = Symbol('onewrite connection')

/**
 * @param {any} socket
 * @returns {Connection | null} null for a socket that was made elsewhere
 */
export function connectionOf (socket) {
  return socket?.[kConnection] ?? null
}

const kWatch = Symbol('onewrite watch')

/** Counts what one socket writes to the kernel. A stream has at most one write under way. */
class WriteWatch {
  /** @param {Connection} connection @param {any} socket */
  constructor (connection, socket) {
    this.connection = connection
    this.write = socket._write
    this.writev = socket._writev
    /** @type {any} of the write under way */
    this.callback = null
    this.done = (/** @type {any} */ error) => {
      const { callback, connection } = this
      this.callback = null
      // For a destroyed socket net calls back every write without an error, whether the kernel took it or not.
      if (connection.writing && !socket.destroyed) connection.lateWrite()
      callback(error)
    }
  }

  /** @param {number} bytes @param {any} callback */
  before (bytes, callback) {
    const { connection } = this
    this.callback = callback
    if (connection.firstWriteNs === 0) connection.firstWriteNs = nowNs()
    connection.bytesOut += bytes
    connection.writes++
  }

  /** @param {any} socket */
  after (socket) {
    const { connection } = this
    connection.lastWriteNs = nowNs()
    // Without a callback the write is done: the kernel took all of it at once.
    connection.writing = this.callback !== null && (socket.connecting === true || socket.secureConnecting === true || unsent(socket._handle) > 0)
  }
}

/** @this {any} @param {any} chunk @param {any} encoding @param {any} callback */
function write (chunk, encoding, callback) {
  /** @type {WriteWatch} */
  const watch = this[kWatch]
  watch.before(sizeOf(chunk, encoding), callback)
  watch.write.call(this, chunk, encoding, watch.done)
  watch.after(this)
}

/** @this {any} @param {any} chunks @param {any} callback */
function writev (chunks, callback) {
  /** @type {WriteWatch} */
  const watch = this[kWatch]
  let bytes = 0
  for (let index = 0; index < chunks.length; index++) bytes += sizeOf(chunks[index].chunk, chunks[index].encoding)
  watch.before(bytes, callback)
  watch.writev.call(this, chunks, watch.done)
  watch.after(this)
}

/**
 * @param {any} chunk
 * @param {any} encoding
 */
function sizeOf (chunk, encoding) {
  if (typeof chunk !== 'string') return chunk.byteLength
  return encoding === 'latin1' || encoding === 'binary' ? chunk.length : Buffer.byteLength(chunk, encoding)
}

/**
 * Bytes that libuv has not yet passed to the kernel. Under TLS the handle below is asked: the TLS handle reports the end of
 * a write one turn later, when the response may have arrived.
 * @param {any} handle
 * @returns {number}
 */
function unsent (handle) {
  return (handle?._parent ?? handle)?.writeQueueSize ?? 0
}
