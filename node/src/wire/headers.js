/** The headers of a dispatch: a flat list of names and values, an iterable of pairs, or an object. */

/**
 * An iterable may yield only once, as `map.entries()` or a generator does. Then the caller's is read here, and the base
 * library gets a list of what it yielded.
 * @param {any} opts of a dispatch
 * @returns {any} opts whose headers can be read more than once
 */
export function withRereadableHeaders (opts) {
  const headers = opts?.headers
  if (headers === null || typeof headers !== 'object' || Array.isArray(headers) || typeof headers[Symbol.iterator] !== 'function') return opts
  const pairs = [...headers]
  return { ...opts, headers: { [Symbol.iterator]: () => pairs.values() } }
}

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
