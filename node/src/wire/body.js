/** What kind of body it is, and whether all of it is in memory. */

/**
 * @param {any} body
 * @returns {boolean} undici writes it as soon as it has a connection; it may have to wait for any other
 */
export function isInMemory (body) {
  return body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array
}

/**
 * @param {any} body
 * @returns {number | null} bytes; null for what is not in memory
 */
export function sizeInMemory (body) {
  if (!isInMemory(body)) return null
  return typeof body === 'string' ? Buffer.byteLength(body) : body?.byteLength ?? 0
}
