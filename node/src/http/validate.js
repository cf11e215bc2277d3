/**
 * Refuses what node:http would send and must not (spec/06-security.md). Node refuses line breaks, control characters and
 * header names that are not tokens. It sends any Content-Length: beside a Transfer-Encoding, twice, or `+5`.
 */

import { InvalidRequestError } from '../errors.js'
import { framingRefusal } from '../wire/validate.js'

/**
 * @param {any} request of which nothing was sent
 * @returns {InvalidRequestError | null}
 */
export function headRefusal (request) {
  // Node refuses the other control characters.
  if (String(request.path).includes('\x7f')) return new InvalidRequestError('the path has a control character (DEL): encode it as %7F')
  const head = request.getHeader('content-length') === undefined ? finishedHead(request) : null
  const lengths = head === null ? [request.getHeader('content-length')].flat() : [...head.matchAll(/\r\ncontent-length:([^\r]*)/gi)].map(([, value]) => value)
  if (lengths.length === 0) return null
  const encoded = head === null ? request.hasHeader('transfer-encoding') : /\r\ntransfer-encoding:/i.test(head)
  return framingRefusal(lengths.map((value) => String(value).trim()), encoded)
}

/**
 * For headers in one flat list Node keeps nothing but the finished head (lib/_http_client.js).
 * @param {any} request
 * @returns {string} '' for headers in another form
 */
function finishedHead (request) {
  return typeof request._header === 'string' ? request._header : ''
}
