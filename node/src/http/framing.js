/** Finds in what node:http writes to its socket where a message ends. */

import { CHUNKED } from '../wire/coalesce.js'

const [LOWER, C, E, T] = [0x20, 0x63, 0x65, 0x74]
const CONTENT_LENGTH = 'content-length:'
const [CHUNKED_LINE, EXPECT_LINE] = ['transfer-encoding: chunked', 'expect: 100-continue']

/**
 * node:http writes the head at the beginning of a string, sometimes followed by a first piece of the body
 * (lib/_http_outgoing.js, _send). The body follows: with a length, or in chunks up to `0\r\n`.
 * @param {string} text that begins with a head
 * @param {any} socket
 * @returns {number} bytes of the message that follow `text`; CHUNKED for a chunked body
 */
function bytesAfterHead (text, socket) {
  // A request that was ended before it got its socket is flushed whole: there is nothing to wait for.
  if (socket._httpMessage?.writableEnded === true) return 0
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return 0
  let bytes = 0
  for (let at = 0; at < end;) {
    const next = text.indexOf('\r\n', at)
    const first = text.charCodeAt(at) | LOWER
    if (first === C || first === T || first === E) {
      const line = text.slice(at, next).toLowerCase()
      // With Expect: 100-continue the caller wants the head sent alone.
      if (line === EXPECT_LINE) return 0
      if (line === CHUNKED_LINE) bytes = text.endsWith('\r\n0\r\n\r\n') ? 0 : CHUNKED
      else if (line.startsWith(CONTENT_LENGTH)) {
        bytes = Math.max(0, Number(line.slice(CONTENT_LENGTH.length)) - Buffer.byteLength(text.slice(end + 4)))
      }
    }
    at = next + 2
  }
  return bytes
}

/** @type {import('../wire/coalesce.js').Framing} */
export const nodeHttpFraming = {
  bytesAfterHead,
  // The last chunk and its trailers are one string.
  isLast: (text) => text.startsWith('0\r\n') && text.endsWith('\r\n\r\n')
}
