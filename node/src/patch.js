/** What one object gets, such as a socket, and gives back: marks, methods, TCP_NODELAY. Its class stays as it is. */

/**
 * Sets a property that is not enumerable.
 * @param {any} target @param {PropertyKey} key @param {unknown} value
 * @returns {boolean} false: the object cannot take it
 */
export function hide (target, key, value) {
  return Reflect.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: false })
}

/**
 * Methods that stand in the place of others, which are there by name. `own`: those that the object had itself, not its
 * class.
 * @typedef {{ours: Record<string, Function>, own: Record<string, PropertyDescriptor> | null}} ReplacedParts
 */
/** @typedef {ReplacedParts & Record<string, any>} Replaced */

/**
 * @param {any} target @param {Record<string, Function>} ours
 * @returns {Replaced | null} null where the target cannot take all of them
 */
export function replaceMethods (target, ours) {
  /** @type {Replaced} */
  const replaced = { ours, own: null }
  try {
    for (const name of Object.keys(ours)) {
      const own = Object.getOwnPropertyDescriptor(target, name)
      replaced[name] = target[name]
      if (own !== undefined) (replaced.own ??= {})[name] = own
      if (typeof target[name] === 'function' && own?.writable !== false && hide(target, name, ours[name])) continue
      giveBackAll(target, replaced)
      return null
    }
    return replaced
  } catch {
    return null
  }
}

/** @param {any} target @param {Replaced} replaced */
function giveBackAll (target, { ours, own }) {
  for (const name of Object.keys(ours)) {
    if (target[name] !== ours[name]) continue
    const before = own?.[name]
    if (before !== undefined) Reflect.defineProperty(target, name, before)
    else delete target[name]
  }
}

/**
 * @param {any} target @param {Replaced} replaced
 * @returns {boolean} false: methods of others stand on ours, so ours stay
 */
export function giveBackMethods (target, replaced) {
  if (Object.keys(replaced.ours).some((name) => target[name] !== replaced.ours[name])) return false
  giveBackAll(target, replaced)
  return true
}

/**
 * Node has no getsockopt, so TCP_NODELAY cannot be read back.
 * @param {any} socket a program's own, or a mock, may lack the method @param {boolean} [wanted]
 */
export function setNoDelay (socket, wanted = true) {
  try {
    socket?.setNoDelay?.(wanted)
  } catch {
    // A method of the program that throws must not end the process from an event.
  }
}
