/** Checks the fields that say where a body ends. A bad one is refused before the first byte (spec/06-security.md). */

import { InvalidRequestError } from '../errors.js'

const DIGITS = /^\d+$/

/**
 * @param {string[]} lengths the values of the Content-Length fields, at least one
 * @param {boolean} encoded there is a Transfer-Encoding as well
 * @returns {InvalidRequestError | null}
 */
export function framingRefusal (lengths, encoded) {
  if (encoded) return new InvalidRequestError('both Content-Length and Transfer-Encoding: leave one of them out (RFC 9112 section 6.2)')
  const [first] = lengths
  for (const one of lengths) {
    if (!DIGITS.test(one)) return new InvalidRequestError(`Content-Length is ${JSON.stringify(one)}: it must be a row of digits (RFC 9110 section 8.6)`)
    if (Number(one) !== Number(first)) return new InvalidRequestError(`Content-Length is ${first} and ${one}: it must be one (RFC 9112 section 6.3)`)
  }
  return null
}
