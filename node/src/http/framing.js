/** Finds where a message of node:http ends, from what it writes to its socket. */

import { CHUNKED } from '../coalesce.js'

/**
 * node:http writes the head as the beginning of a string, sometimes with a first piece of the body behind it
 * (lib/_http_outgoing.js, _send). What follows is the body: with a length, or in chunks up to `0\r\n`.
 * @param {string} text that begins with a head
 * @returns {number} bytes of the message that follow `text`; CHUNKED for a chunked body
 */
function bytesAfterMessageStart (text) {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return 0
  const head = text.slice(0, end + 2).toLowerCase()
  // With Expect: 100-continue the head travels alone, by the caller's wish.
  if (head.includes('\r\nexpect: 100-continue\r\n')) return 0
  if (head.includes('\r\ntransfer-encoding: chunked\r\n')) {
    return text.endsWith('\r\n0\r\n\r\n') ? 0 : CHUNKED
  }
  const length = /\r\ncontent-length: *(\d+)\r\n/.exec(head)
  if (length === null) return 0
  return Math.max(0, Number(length[1]) - Buffer.byteLength(text.slice(end + 4)))
}

/** @type {import('../coalesce.js').Framing} */
export const nodeHttpFraming = {
  bytesAfterHead: bytesAfterMessageStart,
  // The last chunk and the trailers behind it are one text.
  isLast: (text) => text.startsWith('0\r\n') && text.endsWith('\r\n\r\n')
}
