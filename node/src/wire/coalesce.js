/**
 * Deferred uncork: what is written for one message in one turn of the event loop leaves in one `writev`.
 *
 * undici corks around the head and the first chunk of a body, and around each later chunk alone
 * (undici lib/dispatcher/client-h1.js, AsyncWriter). So a form, a stream or a chunked body takes two to six writes.
 * Here the last uncork of a message that is not finished waits for the end of the turn, and no longer.
 * A finished message leaves at once: for a string or a Buffer nothing is deferred.
 * The parts of a form come in several turns (undici lib/web/fetch/body.js, extractBody), so they are several writes.
 *
 * Nothing is dropped and nothing is copied. At most `max` bytes are held at the beginning of a message. After that it
 * is four times as much, so that a stream of many small chunks takes few writes, but never more than the socket's
 * high-water mark, at which the source has to wait.
 */

import { giveBackMethods, hide, replaceMethods } from '../patch.js'

/** Stands for the length of a chunked body, which is not known before its last chunk. */
const CHUNKED = -1
const CHUNKED_HEAD = '\r\ntransfer-encoding: chunked\r\n'
const LENGTH_LINE = 'content-length: '
const LAST_CHUNK = '\r\n0\r\n\r\n'
const [CR, LF, ZERO, SPACE] = [13, 10, 48, 32]

/**
 * How many bytes of the message follow its head. undici ends each head with the line that frames the body, so it is
 * read from its end. A wrong answer costs a write or a turn of the loop, never a byte.
 * @param {string} head
 */
function bytesAfterHead (head) {
  let at = head.length - 1
  if (head.charCodeAt(at) !== LF || head.charCodeAt(at - 1) !== CR) return 0
  if (head.charCodeAt(at - 2) !== LF) return head.endsWith(CHUNKED_HEAD) ? CHUNKED : 0
  at -= 4
  let bytes = 0
  for (let scale = 1, digit; (digit = head.charCodeAt(at) - ZERO) >= 0 && digit <= 9; scale *= 10, at--) {
    bytes += digit * scale
  }
  return head.charCodeAt(at) === SPACE && head.endsWith(LENGTH_LINE, at + 1) ? bytes : 0
}

const kHold = Symbol('onewrite hold')

/** What is held on one socket. */
class Hold {
  /** One of the socket's corks is ours. */
  held = false
  /** Bytes of the message that are still to be written. */
  left = 0
  limit = 0
  max = 0
  later = 0

  /** @param {any} socket @param {any} originals @param {number} max */
  constructor (socket, originals, max) {
    this.socket = socket
    this.originals = originals
    this.begin(max)
  }

  /** The next write begins a new message. @param {number} max */
  begin (max) {
    this.max = max
    this.later = Math.min(max * 4, this.socket.writableHighWaterMark)
    this.limit = max
    this.left = 0
  }
}

/** @param {Hold} hold */
function release (hold) {
  if (!hold.held) return
  hold.held = false
  hold.limit = hold.later
  hold.originals.uncork.call(hold.socket)
}

/** The methods of a socket on which writes are held. @type {Record<string, (this: any, ...args: any[]) => any>} */
const holding = {
  write (chunk, encoding, callback) {
    /** @type {Hold} */
    const hold = this[kHold]
    const { left } = hold
    const isText = typeof chunk === 'string'
    if (left > 0) {
      const known = /** @type {any} */ (typeof encoding === 'string' ? encoding : 'utf8')
      hold.left = Math.max(0, left - (isText ? Buffer.byteLength(chunk, known) : chunk.byteLength))
    } else if (left === CHUNKED) {
      if (chunk === LAST_CHUNK) hold.left = 0
    } else if (isText) {
      hold.limit = hold.max
      hold.left = bytesAfterHead(chunk)
    }
    const more = hold.originals.write.call(this, chunk, encoding, callback)
    if (hold.held && hold.left === 0) release(hold)
    return more
  },
  uncork () {
    /** @type {Hold} */
    const hold = this[kHold]
    const { uncork } = hold.originals
    if (hold.held) {
      // The last cork is ours: this call comes from Writable.end(), which flushes everything.
      if (this.writableCorked <= 1) return release(hold)
      uncork.call(this)
      if (this.writableLength >= hold.limit) release(hold)
    } else if (hold.left === 0 || this.writableCorked !== 1 || this.writableLength >= hold.limit) {
      hold.limit = hold.later
      uncork.call(this)
    } else {
      hold.held = true
      setImmediate(release, hold)
    }
  }
}

/**
 * Patches `write` and `uncork` of this one socket. It is the instance, because a connector returns connected sockets of
 * several classes (net, tls, a user's own); prototypes stay as they are. It cannot join writes of different turns:
 * those had to wait for their source.
 * @param {any} socket from a connector
 * @param {number} max most bytes to hold; 0: none
 */
export function holdUnfinished (socket, max) {
  /** @type {Hold | undefined} */
  const hold = socket[kHold]
  // A tunnel's socket comes twice: first for the CONNECT request, then for requests to the origin.
  if (hold !== undefined) return hold.begin(max)
  // A user's own socket, or a mock, may lack parts of Writable, or be frozen.
  if (max === 0 || typeof socket.writableCorked !== 'number') return
  const originals = replaceMethods(socket, holding)
  if (originals !== null && !hide(socket, kHold, new Hold(socket, originals, max))) giveBackMethods(socket, originals)
}

/** Gives a socket its methods back: it is closed, upgraded, or carries a tunnel. @param {any} socket */
export function giveBack (socket) {
  /** @type {Hold | undefined} */
  const hold = socket[kHold]
  if (hold === undefined) return
  release(hold)
  // Methods of others may stand on ours: then ours stay, and hold nothing.
  hold.begin(0)
  if (giveBackMethods(socket, hold.originals)) delete socket[kHold]
}
