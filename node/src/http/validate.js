/**
 * Refuses what node:http would send and must not (spec/06-security.md). Node refuses line breaks, control characters and
 * header names that are not tokens. It sends any Content-Length: beside a Transfer-Encoding, twice, or `+5`.
 */

import { InvalidRequestError } from '../errors.js'

/**
 * @param {any} request that an agent has just been given
 * @returns {InvalidRequestError | null}
 */
export function headRefusal (request) {
  // Node refuses the other control characters.
  if (String(request.path).includes('\x7f')) return new InvalidRequestError('the path has a control character (DEL): encode it as %7F')
  const head = request._header
  if (typeof head !== 'string') return headersRefusal(request)
  // For headers in one flat list Node keeps nothing but the finished head (lib/_http_client.js).
  const lengths = [...head.matchAll(/\r\ncontent-length:([^\r]*)/gi)].map(([, value = '']) => value.trim())
  return lengths.length === 0 ? null : framingRefusal(lengths, /\r\ntransfer-encoding:/i.test(head))
}

/**
 * @param {any} request whose headers may have been set since it was made
 * @returns {InvalidRequestError | null}
 */
export function headersRefusal (request) {
  const length = request.getHeader('content-length')
  if (length === undefined) return null
  const lengths = Array.isArray(length) ? length.map((one) => String(one).trim()) : [String(length).trim()]
  return framingRefusal(lengths, request.hasHeader('transfer-encoding'))
}

/**
 * @param {string[]} lengths the values of the Content-Length fields, at least one
 * @param {boolean} encoded there is a Transfer-Encoding as well
 * @returns {InvalidRequestError | null}
 */
function framingRefusal (lengths, encoded) {
  if (encoded) return new InvalidRequestError('both Content-Length and Transfer-Encoding: leave one of them out (RFC 9112 section 6.2)')
  const [first] = lengths
  for (const one of lengths) {
    if (!/^\d+$/.test(one)) return new InvalidRequestError(`Content-Length is ${JSON.stringify(one)}: it must be a row of digits (RFC 9110 section 8.6)`)
    if (Number(one) !== Number(first)) return new InvalidRequestError(`Content-Length is ${first} and ${one}: it must be one (RFC 9112 section 6.3)`)
  }
  return null
}
