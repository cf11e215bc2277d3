/**
 * Encodes small forms (multipart/form-data) as one piece. undici reads the parts of a form one by one, and a file takes
 * turns of the event loop, so the form takes two writes or more. Here the parts are joined first.
 *
 * The bytes are those that undici writes (lib/web/fetch/body.js, extractBody), which follow the HTML standard; the
 * boundary is random in both.
 */

import { randomInt } from 'node:crypto'
import { withKeys } from '../config.js'

const encode = (/** @type {string} */ text) => Buffer.from(text)
const lineEnds = (/** @type {string} */ text) => text.replace(/\r?\n|\r/g, '\r\n')
const quoted = (/** @type {string} */ text) => text.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22')

/**
 * The boundary has the form of undici's, so that the message has the same length.
 * @param {any} opts of a dispatch whose body is a FormData
 * @param {number} max bytes up to which the form becomes one piece
 * @returns {any} opts with the encoded body and its headers; opts as they are where undici has more to decide
 */
export function encodeForm (opts, max) {
  const headers = max === 0 ? null : flat(opts.headers)
  if (headers === null || has(headers, 'content-length')) return opts
  const boundary = `----formdata-undici-0${String(randomInt(1e11)).padStart(11, '0')}`
  /** @type {(Buffer | Blob)[]} */
  const parts = []
  for (const [name, value] of opts.body.entries()) {
    const start = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(lineEnds(name))}"`
    if (typeof value === 'string') {
      parts.push(encode(`${start}\r\n\r\n${lineEnds(value)}\r\n`))
    } else {
      const file = value.name ? `; filename="${quoted(value.name)}"` : ''
      const type = value.type || 'application/octet-stream'
      parts.push(encode(`${start}${file}\r\nContent-Type: ${type}\r\n\r\n`), value, encode('\r\n'))
    }
  }
  parts.push(encode(`--${boundary}--\r\n`))
  const size = parts.reduce((sum, part) => sum + (part instanceof Uint8Array ? part.byteLength : part.size), 0)
  if (!(size <= max)) return opts
  if (!has(headers, 'content-type')) headers.push('content-type', `multipart/form-data; boundary=${boundary}`)
  headers.push('content-length', String(size))
  return withKeys(opts, { headers, body: inOnePiece(piecewise(parts)) })
}

/**
 * The same for fetch, which gives a form as an iterator over its parts. Only a form has both a length and a multipart
 * type.
 * @param {any} opts of a dispatch by fetch
 * @param {number} max bytes
 */
export function joinForm (opts, max) {
  const { headers, body } = opts ?? {}
  if (max === 0 || typeof body?.[Symbol.asyncIterator] !== 'function' || !headers || Array.isArray(headers)) return opts
  const valueOf = (wanted) => headers[Object.keys(headers).find((name) => name.toLowerCase() === wanted) ?? '']
  const isForm = String(valueOf('content-type')).startsWith('multipart/form-data; boundary=')
  return isForm && Number(valueOf('content-length')) <= max ? { ...opts, body: inOnePiece(body) } : opts
}

async function * piecewise (parts) {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part
    else yield * /** @type {any} */ (part.stream())
  }
}

/** Joins what a body yields that is known to be small and in memory. @param {AsyncIterable<Uint8Array>} body */
async function * inOnePiece (body) {
  const pieces = []
  for await (const piece of body) pieces.push(piece)
  yield Buffer.concat(pieces)
}

/** @returns {any[] | null} a copy: names and values in turn; null for an iterable, which may yield only once */
function flat (headers) {
  if (Array.isArray(headers)) return [...headers]
  if (headers === undefined || headers === null) return []
  return typeof headers !== 'object' || headers[Symbol.iterator] ? null : Object.entries(headers).flat(1)
}

/** @param {any[]} headers names and values in turn @param {string} wanted in lower case */
function has (headers, wanted) {
  return headers.some((name, index) => index % 2 === 0 && typeof name === 'string' && name.toLowerCase() === wanted)
}
