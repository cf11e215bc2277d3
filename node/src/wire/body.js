/** @returns {boolean} all of it is in memory: the base library writes it as soon as it has a connection */
export function isInMemory (body) {
  return body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array
}
