/**
 * Deferred uncork: what undici writes for one message in one turn of the event loop leaves in one `writev`.
 *
 * undici corks around the head and the first chunk of a body, and around each later chunk alone
 * (undici lib/dispatcher/client-h1.js, AsyncWriter). So a form, a stream or a chunked body takes two to six writes.
 * Here the last uncork of a message that is not finished waits for the end of the turn, and no longer.
 * A finished message leaves at once: for a string or a Buffer nothing is deferred.
 *
 * Nothing is dropped and nothing is copied. Of a message's beginning no more than `max` bytes are held, of what comes
 * after that four times as much, so that a stream of many small chunks takes few writes; and never more than the
 * socket's high-water mark, at which the source is told to wait.
 */

/**
 * How a library's writes show where a message ends. A wrong guess costs a write or a turn of the loop, never a byte.
 * @typedef {object} Framing
 * @property {(text: string) => number} bytesAfterHead bytes that follow a text that begins a message; Infinity while chunked
 * @property {(text: string) => boolean} isLast the text that ends a chunked message
 */

/** undici ends each head with the line that frames the body. */
const CHUNKED_HEAD = '\r\ntransfer-encoding: chunked\r\n'
const LENGTH_LINE = 'content-length: '
const LAST_CHUNK = '\r\n0\r\n\r\n'

/** @type {Framing} */
export const undiciFraming = {
  bytesAfterHead: bytesAfterUndiciHead,
  isLast: (text) => text === LAST_CHUNK
}

/** @param {string} head */
function bytesAfterUndiciHead (head) {
  if (head.endsWith(CHUNKED_HEAD)) return Infinity
  if (!head.endsWith('\r\n\r\n')) return 0
  const line = head.lastIndexOf('\r\n', head.length - 5) + 2
  return head.startsWith(LENGTH_LINE, line) ? Number.parseInt(head.slice(line + LENGTH_LINE.length), 10) : 0
}

/**
 * Patches `write` and `uncork` of this one socket. The instance, because a connector hands over finished sockets of
 * several classes (net, tls, a user's own); prototypes stay as they are. It cannot reach writes that undici makes
 * in different turns: those were waiting for their source.
 * @param {any} socket as a connector hands it over
 * @param {number} max most bytes to hold
 * @param {Framing} framing
 */
export function holdUnfinished (socket, max, framing) {
  const { write, uncork } = socket
  // A user's own or a mock socket may be no Writable.
  if (max === 0 || typeof write !== 'function' || typeof uncork !== 'function' || typeof socket.writableCorked !== 'number') return

  let left = 0 // bytes of the message that are still to be written
  let held = false // this module owns one cork of the socket
  const later = Math.min(max * 4, socket.writableHighWaterMark)
  let limit = max

  const release = () => {
    if (!held) return
    held = false
    limit = later
    uncork.call(socket)
  }

  /** @param {any} chunk @param {any} encoding @param {any} callback */
  socket.write = function (chunk, encoding, callback) {
    if (left === 0) limit = max
    if (typeof chunk === 'string') left = afterText(left, chunk, encoding, framing)
    else if (left !== 0) left = Math.max(0, left - chunk.byteLength)
    const more = write.call(this, chunk, encoding, callback)
    if (held && left === 0) release()
    return more
  }

  socket.uncork = function () {
    if (held) {
      // At one cork it is our own that goes: Writable.end() wants everything out.
      if (this.writableCorked <= 1) return release()
      uncork.call(this)
      if (this.writableLength >= limit) release()
      return
    }
    if (left === 0 || this.writableCorked !== 1 || this.writableLength >= limit) {
      limit = later
      return uncork.call(this)
    }
    held = true
    setImmediate(release)
  }
}

/**
 * @param {number} left
 * @param {string} text
 * @param {any} encoding
 * @param {Framing} framing
 */
function afterText (left, text, encoding, framing) {
  if (left === 0) return framing.bytesAfterHead(text)
  if (left === Infinity) return framing.isLast(text) ? 0 : Infinity
  return Math.max(0, left - Buffer.byteLength(text, typeof encoding === 'string' ? /** @type {any} */ (encoding) : 'utf8'))
}
