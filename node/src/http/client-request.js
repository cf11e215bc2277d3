/**
 * Refuses what node:http would send and must not (spec/06-security.md). Node refuses line breaks, control characters and
 * header names that are not tokens. It sends any Content-Length: beside a Transfer-Encoding, twice, `+5`, or of another
 * length than the body. And it sends the body of a DELETE without any length. Its own `strictContentLength` only compares
 * the length with the body, throws within `end()`, and has queued the body by then (lib/_http_outgoing.js).
 */

import { InvalidRequestError } from '../errors.js'
import { framingRefusal } from '../wire/validate.js'

const kBody = Symbol('onewrite body')
const UNDECLARED = -1

/** The body of one request. */
class Body {
  /** The head has been checked, and will not change. */
  checked = false
  /** Node has got a part of the body, or was told to send the head. */
  begun = false
  /** The Content-Length of the head. */
  declared = UNDECLARED
  /** Bytes. */
  written = 0

  /** @param {any} request */
  constructor (request) {
    this.write = request.write
    this.end = request.end
    this.flushHeaders = request.flushHeaders
  }

  /**
   * @param {any} request
   * @param {number} [size] of the first piece of its body
   * @returns {boolean} false when the request is refused
   */
  begin (request, size = 0) {
    if (this.checked) return true
    this.checked = true
    // Node sends the body of a DELETE, GET or OPTIONS without a length or chunks unless this flag is set.
    if (size > 0) request.useChunkedEncodingByDefault = true
    const lengths = lengthsOf(request)
    if (lengths.length === 0) return true
    const error = refusalOf(request, lengths)
    if (error !== null) {
      request.destroy(error)
      return false
    }
    this.declared = Number(lengths[0])
    return true
  }

  /**
   * Node makes the head of a DELETE, GET or OPTIONS without Content-Length or Transfer-Encoding at an empty write, at
   * flushHeaders(), from headers in one flat list, and with `Expect`. Then a body can only be refused.
   * @param {any} request
   * @param {number} size of a piece of the body
   * @returns {boolean} whether it was refused
   */
  refusesUnframed (request, size) {
    if (size === 0 || typeof request._header !== 'string' || request.chunkedEncoding || this.declared !== UNDECLARED) return false
    if (/\r\ntransfer-encoding:/i.test(request._header)) return false
    const what = `the head of this ${request.method} announces no body, so the server would read it as the next request`
    request.destroy(this.begun || request._headerSent
      ? Object.assign(new Error(`${what}: the connection is closed; set Content-Length`), { code: 'ERR_HTTP_CONTENT_LENGTH_MISMATCH' })
      : new InvalidRequestError(`${what}: set Content-Length, or give the headers as an object`))
    return true
  }

  /**
   * @param {any} request
   * @param {number} size of the whole body
   */
  mismatch (request, size) {
    const what = `Content-Length is ${this.declared} and the body has ${size} bytes`
    request.destroy(this.begun
      ? Object.assign(new Error(`${what}: the connection is closed`), { code: 'ERR_HTTP_CONTENT_LENGTH_MISMATCH' })
      : new InvalidRequestError(`${what}: leave the header out, Node sets it for a body that is given to end()`))
  }
}

/**
 * Patches `write`, `end` and `flushHeaders` of this one request: only there are head and body known while nothing has
 * been sent. A refusal is an 'error' event of the request, as any other error. What is wrong with the headers alone is
 * found before the request gets a connection.
 * @param {any} request that an agent has just been given
 * @returns {InvalidRequestError | null} what is wrong with its head
 */
export function validateRequest (request) {
  // Node refuses the other control characters.
  if (request.path?.includes('\x7f')) return new InvalidRequestError('the path has a control character (DEL): encode it as %7F')
  const refused = refusalOf(request, lengthsOf(request))
  if (refused !== null) return refused
  request[kBody] = new Body(request)
  request.write = write
  request.end = end
  request.flushHeaders = flushHeaders
  return null
}

/** @param {any} request @returns {boolean} Node has got the last byte of its body */
export function isWhole (request) {
  /** @type {Body | undefined} */
  const body = request[kBody]
  return request.writableEnded || (body !== undefined && body.written === body.declared)
}

/** @this {any} @param {any} chunk @param {any} encoding @param {any} callback */
function write (chunk, encoding, callback) {
  /** @type {Body} */
  const body = this[kBody]
  const size = sizeOf(chunk, encoding)
  if (!this.destroyed && body.begin(this, size) && !body.refusesUnframed(this, size)) {
    if (body.declared !== UNDECLARED) {
      if (body.written + size > body.declared) body.mismatch(this, body.written + size)
      else body.written += size
    }
    body.begun = true
    // The body is complete, so its source must not be told to wait for 'drain'. Node may never emit that: when the response
    // is there before the socket has drained, it removes its own listener (lib/_http_client.js, socketOnData).
    if (body.written === body.declared) {
      body.write.call(this, chunk, encoding, callback)
      return !this.destroyed
    }
  }
  // For a destroyed request Node writes nothing, and calls the callback with an error.
  return body.write.call(this, chunk, encoding, callback)
}

/** @this {any} @param {any} chunk @param {any} encoding @param {any} callback */
function end (chunk, encoding, callback) {
  /** @type {Body} */
  const body = this[kBody]
  if (!this.destroyed && !this.finished) {
    const size = chunk && typeof chunk !== 'function' ? sizeOf(chunk, encoding) : 0
    if (!body.begin(this, size) || body.refusesUnframed(this, size)) return this
    if (body.declared !== UNDECLARED && body.written + size !== body.declared) {
      body.mismatch(this, body.written + size)
      return this
    }
  }
  return body.end.call(this, chunk, encoding, callback)
}

/** @this {any} */
function flushHeaders () {
  /** @type {Body} */
  const body = this[kBody]
  if (!body.begin(this)) return
  body.begun = true
  body.flushHeaders.call(this)
}

/**
 * @param {any} request
 * @returns {string[]} the values of its Content-Length fields
 */
function lengthsOf (request) {
  // For headers in one flat list Node keeps only the finished head (lib/_http_client.js).
  if (typeof request._header === 'string') return [...request._header.matchAll(/\r\ncontent-length:([^\r]*)/gi)].map((match) => match[1].trim())
  const value = request.getHeader('content-length')
  if (value === undefined) return []
  return Array.isArray(value) ? value.map((one) => String(one).trim()) : [String(value).trim()]
}

/**
 * @param {any} request
 * @param {string[]} lengths
 * @returns {InvalidRequestError | null}
 */
function refusalOf (request, lengths) {
  if (lengths.length === 0) return null
  return framingRefusal(lengths, request.hasHeader('transfer-encoding') || /\r\ntransfer-encoding:/i.test(request._header ?? ''))
}

/**
 * @param {any} chunk
 * @param {any} encoding
 */
function sizeOf (chunk, encoding) {
  if (typeof chunk === 'string') return Buffer.byteLength(chunk, typeof encoding === 'string' ? /** @type {any} */ (encoding) : 'utf8')
  // Node refuses other types.
  return chunk?.byteLength ?? 0
}
