/** Methods and marks that one object gets, such as a socket, and gives back. Its class stays as it is. */

/**
 * Sets a property that is not enumerable.
 * @param {any} target
 * @param {PropertyKey} key
 * @param {unknown} value
 * @returns {boolean} false: the object cannot take it
 */
export function hide (target, key, value) {
  return Reflect.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: false })
}

/** The methods that were replaced, by name. */
class Originals {
  /** @type {Record<string, Function>} */
  #ours
  /** Those that the object had itself, not its class. @type {Record<string, PropertyDescriptor>} */
  #own = {}

  /** @param {Record<string, Function>} ours */
  constructor (ours) { this.#ours = ours }

  /** @param {any} target @returns {boolean} false: it cannot take one of them, so it has none */
  take (target) {
    const own = /** @type {any} */ (this)
    for (const name of Object.keys(this.#ours)) {
      own[name] = target[name]
      const before = Object.getOwnPropertyDescriptor(target, name)
      if (typeof own[name] !== 'function' || before?.writable === false || !hide(target, name, this.#ours[name])) {
        delete own[name]
        this.giveBack(target)
        return false
      }
      if (before !== undefined) this.#own[name] = before
    }
    return true
  }

  /** @param {any} target @returns {boolean} false: methods of others stand on ours, so ours stay */
  giveBack (target) {
    const names = Object.keys(this)
    if (names.some((name) => target[name] !== this.#ours[name])) return false
    for (const name of names) {
      const before = this.#own[name]
      if (before !== undefined) Reflect.defineProperty(target, name, before)
      else delete target[name]
    }
    return true
  }
}

/**
 * @param {any} target
 * @param {Record<string, Function>} methods
 * @returns {any} what they replace, by name, with `giveBack(target)`; null where the target cannot take all of them
 */
export function replaceMethods (target, methods) {
  try {
    const originals = new Originals(methods)
    return originals.take(target) ? originals : null
  } catch {
    return null
  }
}
