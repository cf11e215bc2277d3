/**
 * What is known of one connection: its own steps, once, and what was written for the message that it carries now.
 */

import net from 'node:net'
import { nowNs } from '../clock.js'

let lastId = 0

export class Connection {
  /**
   * @param {string} host name or address that is connected to
   * @param {boolean} secure TLS comes after TCP
   */
  constructor (host, secure) {
    this.id = ++lastId
    this.host = host
    this.secure = secure
    this.startNs = nowNs()
    /** 0: the step has not happened. */
    this.dnsStartNs = net.isIP(host) === 0 ? this.startNs : 0
    this.dnsEndNs = 0
    this.connectStartNs = this.dnsStartNs === 0 ? this.startNs : 0
    this.connectEndNs = 0
    this.tlsStartNs = 0
    this.tlsEndNs = 0
    /** @type {string | undefined} message of the step that failed */
    this.error = undefined
    /** It is there for requests. */
    this.isReady = false
    this.requests = 0
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

  /** The name of the step that was begun last. */
  lastStep () {
    return this.tlsStartNs !== 0 ? 'tls' : this.connectStartNs !== 0 ? 'connect' : 'dns'
  }

  /** @returns {{name: 'dns' | 'connect' | 'tls', startNs: number, endNs: number, error: string | undefined}[]} */
  steps () {
    const last = this.lastStep()
    const steps = []
    for (const name of /** @type {const} */ (['dns', 'connect', 'tls'])) {
      const startNs = this[`${name}StartNs`]
      const endNs = this[`${name}EndNs`]
      if (startNs !== 0 && endNs !== 0) steps.push({ name, startNs, endNs, error: name === last ? this.error : undefined })
    }
    return steps
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
    socket.once('lookup', (/** @type {Error | null} */ error) => {
      if (this.dnsStartNs === 0 || this.dnsEndNs !== 0) return
      this.dnsEndNs = nowNs()
      if (!error) this.connectStartNs = this.dnsEndNs
    })
    socket.once('connect', () => this.connected())
    if (this.secure) socket.once('secureConnect', () => this.secured())
  }

  /** The connector shows no socket before it is finished, so its steps cannot be told apart: all of it is `connect`. */
  cannotFollow () {
    if (this.connectEndNs !== 0) return
    this.dnsStartNs = 0
    this.connectStartNs = this.startNs
  }

  /** TCP is connected, or the proxy has opened its tunnel. */
  connected () {
    if (this.connectEndNs !== 0) return
    this.connectEndNs = nowNs()
    // Where nobody could follow the socket there is nothing between its two steps.
    if (this.secure && !this.isReady) this.tlsStartNs = this.connectEndNs
  }

  secured () {
    if (this.tlsStartNs !== 0 && this.tlsEndNs === 0) this.tlsEndNs = nowNs()
  }

  /** The socket is finished: the next thing on it is a request. */
  ready () {
    if (this.isReady) return
    this.isReady = true
    if (this.connectStartNs === 0) this.cannotFollow()
    this.connected()
    this.secured()
  }

  /** @param {any} socket that carries the requests of this connection */
  attach (socket) {
    this.socket = socket
    this.watchWrites(socket)
  }

  /** @param {any} error */
  failed (error) {
    this.error = String(error?.message || error?.code || error)
    const now = nowNs()
    if (this.tlsStartNs !== 0) this.tlsEndNs = now
    else if (this.connectStartNs !== 0) this.connectEndNs = now
    else if (this.dnsEndNs === 0) this.dnsEndNs = now
  }

  /**
   * Patches `_write` and `_writev` of this socket: below them is the kernel, so here a write is a write.
   * Not `write`, which only queues while the socket is corked. Only on sockets of an agent with hooks.
   * @param {any} socket
   */
  watchWrites (socket) {
    const { _write, _writev } = socket
    if (typeof _write !== 'function') return
    const connection = this
    /** @param {any} chunk @param {any} encoding @param {any} callback */
    socket._write = function (chunk, encoding, callback) {
      const number = connection.beforeWrite(sizeOf(chunk, encoding))
      let called = false
      let late = false
      _write.call(this, chunk, encoding, (/** @type {any} */ error) => {
        called = true
        if (late) connection.lateWrite(number)
        callback(error)
      })
      late = connection.afterWrite(called, this)
    }
    if (typeof _writev !== 'function') return
    /** @param {any} chunks @param {any} callback */
    socket._writev = function (chunks, callback) {
      let bytes = 0
      for (const { chunk, encoding } of chunks) bytes += sizeOf(chunk, encoding)
      const number = connection.beforeWrite(bytes)
      let called = false
      let late = false
      _writev.call(this, chunks, (/** @type {any} */ error) => {
        called = true
        if (late) connection.lateWrite(number)
        callback(error)
      })
      late = connection.afterWrite(called, this)
    }
  }

  /**
   * @param {number} bytes
   * @returns {number} of the write, within the message
   */
  beforeWrite (bytes) {
    if (this.firstWriteNs === 0) this.firstWriteNs = nowNs()
    this.bytesOut += bytes
    return ++this.writes
  }

  /**
   * @param {boolean} called the callback has been called already: everything went at once
   * @param {any} socket
   * @returns {boolean} true where the kernel could not take it all: then the callback is the end of the write
   */
  afterWrite (called, socket) {
    this.lastWriteNs = nowNs()
    this.writing = !called && (socket.connecting === true || socket.secureConnecting === true || unsent(socket._handle) > 0)
    return this.writing
  }

  /** @param {number} number of the write that has ended */
  lateWrite (number) {
    if (number !== this.writes) return
    this.writing = false
    this.lastWriteNs = nowNs()
  }
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
 * Bytes that libuv still has to hand to the kernel. On TLS the handle below knows: the TLS handle says that a write is
 * done only a turn later, when the answer may be here already.
 * @param {any} handle
 * @returns {number}
 */
function unsent (handle) {
  return (handle?._parent ?? handle)?.writeQueueSize ?? 0
}
