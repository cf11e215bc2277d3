/**
 * multipart/form-data of small forms as one piece. undici reads the parts of a form one by one, a file's in turns of
 * its own, so the form takes two writes and more. Here the parts are gathered first; it also lets `undici.request()`
 * take the runtime's own FormData, which undici 7 and 8 refuse.
 *
 * Bytes are those of the HTML standard's encoding, as undici writes them (lib/web/fetch/body.js, extractBody);
 * the boundary is random there and here.
 */

import { randomInt } from 'node:crypto'

const encode = (/** @type {string} */ text) => Buffer.from(text)
const lineEnds = (/** @type {string} */ text) => text.replace(/\r?\n|\r/g, '\r\n')
const quoted = (/** @type {string} */ text) => text.replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/"/g, '%22')

/**
 * The boundary looks like undici's, so that a message has the same length.
 * @param {any} opts of a dispatch whose body is a FormData
 * @param {number} max bytes up to which the form becomes one piece
 * @returns {any} opts with the encoded body and its headers
 */
export function encodeForm (opts, max) {
  const boundary = `----formdata-undici-0${String(randomInt(1e11)).padStart(11, '0')}`
  /** @type {(Buffer | Blob)[]} */
  const parts = []
  for (const [name, value] of opts.body.entries()) {
    const start = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(lineEnds(name))}"`
    if (typeof value === 'string') {
      parts.push(encode(`${start}\r\n\r\n${lineEnds(value)}\r\n`))
    } else {
      const file = value.name ? `; filename="${quoted(value.name)}"` : ''
      parts.push(encode(`${start}${file}\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`), value, encode('\r\n'))
    }
  }
  parts.push(encode(`--${boundary}--\r\n`))
  const size = parts.reduce((sum, part) => sum + (part instanceof Uint8Array ? part.byteLength : part.size), 0)
  const type = `multipart/form-data; boundary=${boundary}`
  return { ...opts, body: size <= max ? gathered(parts) : piecewise(parts), headers: withForm(opts.headers, type, size) }
}

/** @param {(Buffer | Blob)[]} parts */
async function * gathered (parts) {
  const buffers = []
  for (const part of parts) buffers.push(part instanceof Uint8Array ? part : Buffer.from(await part.arrayBuffer()))
  yield Buffer.concat(buffers)
}

/** @param {(Buffer | Blob)[]} parts */
async function * piecewise (parts) {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part
    else yield * /** @type {any} */ (part.stream())
  }
}

/**
 * Brings what a body known to be small and in memory yields into one piece.
 * @param {AsyncIterable<Uint8Array>} body
 */
export async function * inOnePiece (body) {
  const pieces = []
  for await (const piece of body) pieces.push(piece)
  yield Buffer.concat(pieces)
}

/**
 * @param {any} headers in any of undici's forms
 * @param {string} type
 * @param {number} size
 * @returns {any[]} flat
 */
function withForm (headers, type, size) {
  const flat = Array.isArray(headers) ? [...headers] : headers ? [...(headers[Symbol.iterator] ? headers : Object.entries(headers))].flat(1) : []
  const has = (/** @type {string} */ wanted) => flat.some((name, index) => index % 2 === 0 && typeof name === 'string' && name.toLowerCase() === wanted)
  if (!has('content-type')) flat.push('content-type', type)
  if (!has('content-length')) flat.push('content-length', String(size))
  return flat
}
