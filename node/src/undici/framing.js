/** Finds in what undici writes to its socket where a message ends. */

import { CHUNKED } from '../wire/coalesce.js'

const CHUNKED_HEAD = '\r\ntransfer-encoding: chunked\r\n'
const LENGTH_LINE = 'content-length: '
const LAST_CHUNK = '\r\n0\r\n\r\n'
const [CR, LF, ZERO, SPACE] = [13, 10, 48, 32]

/** @type {import('../wire/coalesce.js').Framing} */
export const undiciFraming = {
  bytesAfterHead: bytesAfterUndiciHead,
  isLast: (text) => text === LAST_CHUNK
}

/**
 * undici ends each head with the line that frames the body, so the head is read from its end.
 * @param {string} head
 */
function bytesAfterUndiciHead (head) {
  let at = head.length - 1
  if (head.charCodeAt(at) !== LF || head.charCodeAt(at - 1) !== CR) return 0
  if (head.charCodeAt(at - 2) !== LF) return head.endsWith(CHUNKED_HEAD) ? CHUNKED : 0
  at -= 4
  let bytes = 0
  for (let scale = 1, digit; (digit = head.charCodeAt(at) - ZERO) >= 0 && digit <= 9; scale *= 10, at--) bytes += digit * scale
  return head.charCodeAt(at) === SPACE && head.endsWith(LENGTH_LINE, at + 1) ? bytes : 0
}
