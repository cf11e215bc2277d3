/**
 * Writes of one turn of the event loop leave in one `writev`. Nothing is copied, and nothing is held beyond the turn.
 *
 * undici corks its socket around the head and the first chunk of a body, and around each later chunk alone (undici
 * lib/dispatcher/client-h1.js, AsyncWriter), so a form, a stream or a chunked body takes two to six writes. Here the
 * last uncork of a message that is not finished waits for the end of the turn. A finished message leaves at once, so
 * for a string or a Buffer nothing is held. The parts of a form come in several turns, so they are several writes.
 */

import * as timers from 'node:timers'
import { hide, isUnixSocket, unpatch } from '../patch.js'

// The function itself, because tests replace it, also in its module. One that was replaced before may never call back.
const { setImmediate } = timers
const canHold = isRealImmediate()
/** Most bytes that are held: one TLS record (RFC 8446 section 5.1). */
const MOST = 16384
/** Stands for the length of a chunked body, which is not known before its last chunk. */
const CHUNKED = -1
const CHUNKED_HEAD = '\r\ntransfer-encoding: chunked\r\n'
const LENGTH_LINE = '\r\ncontent-length: '
const LAST_CHUNK = '\r\n0\r\n\r\n'
const kHold = Symbol('onewrite hold')

function isRealImmediate () {
  const immediate = /** @type {any} */ (setImmediate(() => {}))
  timers.clearImmediate(immediate)
  return immediate?.constructor?.name === 'Immediate' && '_onImmediate' in immediate
}

/** The state of one socket of undici. */
class Hold {
  /** Bytes of the message that are still to be written. */
  remaining = 0
  /** One of the socket's corks is ours. */
  corked = false

  /** @param {any} socket */
  constructor (socket) {
    this.socket = socket
    this.write = socket.write
    this.uncork = socket.uncork
    this.limit = Math.min(MOST, socket.writableHighWaterMark)
  }
}

/** @param {Hold} hold */
function flush (hold) {
  if (!hold.corked) return
  hold.corked = false
  hold.uncork.call(hold.socket)
}

/**
 * How many bytes of the message follow its head. undici ends a head with the line that frames the body. A wrong answer
 * would cost a write, or a turn of the loop, never a byte.
 * @param {string} head
 */
function bytesAfter (head) {
  if (!head.endsWith('\r\n\r\n')) return head.endsWith(CHUNKED_HEAD) ? CHUNKED : 0
  const line = head.lastIndexOf('\r\n', head.length - 5)
  return head.startsWith(LENGTH_LINE, line) ? Number(head.slice(line + LENGTH_LINE.length, -4)) : 0
}

/** @this {any} the socket @param {any} chunk @param {any} encoding @param {any} callback */
function write (chunk, encoding, callback) {
  /** @type {Hold} */
  const hold = this[kHold]
  if (hold.remaining > 0) {
    const bytes = typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength
    hold.remaining = Math.max(0, hold.remaining - bytes)
  } else if (hold.remaining === CHUNKED) {
    if (chunk === LAST_CHUNK) hold.remaining = 0
  } else if (typeof chunk === 'string') {
    hold.remaining = bytesAfter(chunk)
  }
  const more = hold.write.call(this, chunk, encoding, callback)
  if (hold.corked && hold.remaining === 0) flush(hold)
  return more
}

/** @this {any} the socket */
function uncork () {
  /** @type {Hold} */
  const hold = this[kHold]
  if (hold.corked) {
    // The last cork is ours: this is the uncork of Writable.end(), which flushes everything.
    if (this.writableCorked <= 1) return flush(hold)
    hold.uncork.call(this)
    if (this.writableLength >= hold.limit) flush(hold)
  } else if (hold.remaining === 0 || this.writableCorked !== 1 || this.writableLength >= hold.limit) {
    hold.uncork.call(this)
  } else {
    hold.corked = true
    setImmediate(flush, hold)
  }
}

/**
 * Patches `write` and `uncork` of this one socket. It is the instance, because a connector returns sockets of several
 * classes (net, tls, a program's own); prototypes stay as they are. `cork` cannot do it: undici's own uncork flushes.
 * @internal
 * @param {any} socket that speaks HTTP/1.1
 */
export function holdWrites (socket) {
  // A program's own socket, or a mock, may lack parts of Writable, or be frozen.
  if (!canHold || typeof socket.writableCorked !== 'number' || typeof socket.uncork !== 'function') return
  if (socket[kHold] !== undefined || isUnixSocket(socket) || !Object.isExtensible(socket)) return
  hide(socket, kHold, new Hold(socket))
  hide(socket, 'write', write)
  hide(socket, 'uncork', uncork)
}

/** Gives a socket its methods back: it is closed, upgraded, or carries a tunnel. @internal @param {any} socket */
export function unholdWrites (socket) {
  /** @type {Hold | undefined} */
  const hold = socket[kHold]
  if (hold === undefined) return
  flush(hold)
  hold.remaining = 0
  // A method of ours that others have wrapped stays, and holds nothing.
  const isUncork = unpatch(socket, 'uncork', uncork, hold.uncork)
  if (unpatch(socket, 'write', write, hold.write) && isUncork) delete socket[kHold]
}

/**
 * Listener for 'socket' of a request of node:http. Node corks the socket around the head and the first chunk, and each
 * time until the next tick, so chunks of one turn take two writes or more. Here the socket is corked from when a
 * request gets it until the end of that turn. Only public methods are used, and nothing is patched.
 * @internal
 * @this {any} the request @param {any} socket
 */
export function joinWrites (socket) {
  // An ended request leaves in one write by itself. A finished head is to leave at once: `flushHeaders()`, or Expect.
  if (!canHold || this.writableEnded || this.headersSent || typeof socket.cork !== 'function') return
  if (isUnixSocket(socket)) return
  socket.cork()
  if (socket.secureConnecting) socket.once('secureConnect', () => uncorkFor(this, socket))
  else if (socket.connecting) socket.once('connect', () => uncorkFor(this, socket))
  else setImmediate(uncorkFor, this, socket)
}

/** @param {any} request @param {any} socket */
function uncorkFor (request, socket) {
  // `end()` has uncorked it, and the next request may have corked it since.
  if (!request.writableEnded) socket.uncork()
}
