/** Hidden properties and replaced methods of one object, such as a socket. Its class stays as it is. */

/**
 * Sets a property that is not enumerable, so that programs which copy or print the object do not see it.
 * @param {any} target @param {PropertyKey} key @param {unknown} value
 * @returns {boolean} false: the object is frozen
 */
export function hide (target, key, value) {
  return Reflect.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: false })
}

/**
 * Removes a method of ours that replaces another.
 * @param {any} target @param {string} name @param {Function} ours @param {Function} original
 * @returns {boolean} false: a method of others stands on ours, so ours stays
 */
export function unpatch (target, name, ours, original) {
  if (target[name] !== ours) return false
  delete target[name]
  // The object itself had one.
  if (target[name] !== original) target[name] = original
  return true
}

/**
 * @internal
 * @param {any} socket
 * @returns {boolean} a Unix socket, also below TLS: it has no TCP
 */
export function isUnixSocket (socket) {
  const handle = socket?._handle
  return (handle?._parent ?? handle)?.constructor?.name === 'Pipe'
}
