/**
 * Refuses a wrong Content-Length that undici would silently correct (spec/06-security.md). undici itself refuses control
 * characters, Content-Length beside Transfer-Encoding, a length that is not digits, and a length that differs from the
 * body of a method that is expected to have one.
 */

import { InvalidRequestError } from '../errors.js'
import { sizeInMemory } from '../wire/body.js'
import { flatHeaders, headerOf } from '../wire/headers.js'

/** The methods for which undici does not compare the length with the body. */
const UNCHECKED = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']

/**
 * A Content-Length beside a body in memory of another length, or beside no body (RFC 9110 section 8.6).
 * Only what undici does not check is checked here, so a POST with a body and a GET without one cost a few comparisons.
 * @param {any} opts of a dispatch
 * @returns {InvalidRequestError | null}
 */
export function refusal (opts) {
  const body = opts?.body
  const method = opts?.method
  if (body === undefined || body === null) {
    if (method !== 'POST' && method !== 'PUT' && method !== 'PATCH' && method !== 'QUERY') return null
  } else if (body.length !== 0 && (method === 'POST' || !UNCHECKED.includes(method))) return null
  const size = sizeInMemory(body)
  if (size === null || !opts.headers) return null
  const declared = headerOf(flatHeaders(opts.headers), 'content-length')
  // undici leaves out a field whose value is undefined.
  if (declared === null || declared === undefined || Number(declared) === size) return null
  return new InvalidRequestError(`Content-Length is ${declared} and the body has ${size} bytes: leave the header out, undici sets it`)
}
