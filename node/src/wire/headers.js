/** The headers of a dispatch: a flat list of names and values, an iterable of pairs, or an object. */

/**
 * @param {any} headers
 * @returns {any[]} a copy: names and values in turn
 */
export function flatHeaders (headers) {
  if (Array.isArray(headers)) return [...headers]
  return headers ? [...(headers[Symbol.iterator] ? headers : Object.entries(headers))].flat(1) : []
}

/**
 * @param {any[]} flat names and values in turn
 * @param {string} wanted in lower case
 * @returns {any} the first value; null: there is no such header
 */
export function headerOf (flat, wanted) {
  const at = flat.findIndex((name, index) => index % 2 === 0 && typeof name === 'string' && name.length === wanted.length && name.toLowerCase() === wanted)
  return at < 0 ? null : flat[at + 1]
}
