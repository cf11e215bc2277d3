/**
 * Refuses a wrong Content-Length that undici would silently correct (spec/06-security.md). undici itself refuses control
 * characters, Content-Length beside Transfer-Encoding, a length that is not digits, and a length that differs from the
 * body of a method that is expected to have one.
 */

import { InvalidRequestError } from '../errors.js'
import { isInMemory, sizeInMemory } from '../wire/body.js'
import { flatHeaders, headerOf } from '../wire/headers.js'

/** The methods for which undici does not compare the length with the body. */
const UNCHECKED = ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']

/**
 * Whether undici leaves the length unchecked, so that `refusal()` reads the headers. A POST with a body and a GET without
 * one cost a few comparisons.
 * @param {any} opts of a dispatch
 */
export function isUnchecked (opts) {
  const body = opts?.body
  const method = opts?.method
  if (!opts?.headers) return false
  if (body === undefined || body === null) return method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'QUERY'
  return (body.length === 0 || (method !== 'POST' && UNCHECKED.includes(method))) && isInMemory(body)
}

/**
 * A Content-Length beside a body in memory of another length, or beside no body (RFC 9110 section 8.6).
 * @param {any} opts of a dispatch that undici leaves unchecked; its headers can be read more than once
 * @returns {InvalidRequestError | null}
 */
export function refusal (opts) {
  const size = sizeInMemory(opts.body)
  const declared = headerOf(flatHeaders(opts.headers), 'content-length')
  // A field whose value is undefined undici leaves out; a length that is no number it refuses.
  if (!/^\d+$/.test(declared) || Number(declared) === size) return null
  return new InvalidRequestError(`Content-Length is ${declared} and the body has ${size} bytes: leave the header out, undici sets it`)
}
