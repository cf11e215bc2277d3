/** What kind of body it is, and whether all of it is at hand. */

/**
 * @param {any} body
 * @returns {number | null} null for what is not in memory
 */
export function sizeInMemory (body) {
  if (body === undefined || body === null) return 0
  if (typeof body === 'string') return Buffer.byteLength(body)
  return body instanceof Uint8Array ? body.byteLength : null
}

/**
 * @param {any} body
 * @returns {boolean} a FormData of this or another realm
 */
export function isFormData (body) {
  // What most bodies are, before a look at a tag, which is dear on a Buffer.
  return typeof body === 'object' && body !== null && !(body instanceof Uint8Array) && body[Symbol.toStringTag] === 'FormData' && typeof body.entries === 'function'
}

/**
 * @param {any} body
 * @returns {boolean} undici writes it as soon as it has a connection; for anything else it may have to wait
 */
export function isAtHand (body) {
  return body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array
}
