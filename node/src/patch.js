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

/**
 * The methods that stand in the place of others, and what they replaced.
 * @typedef {object} ReplacedParts
 * @property {Record<string, Function>} ours
 * @property {Record<string, PropertyDescriptor> | null} own those that the object had itself, not its class
 */
/** @typedef {ReplacedParts & Record<string, any>} Replaced */

/** Objects of one class share it, so that a connection does not have one. @type {WeakMap<object, Replaced>} */
const ofClass = new WeakMap()

/**
 * @param {any} target
 * @param {Record<string, Function>} ours
 * @returns {Replaced | null} null where the target cannot take all of them
 */
export function replaceMethods (target, ours) {
  const names = Object.keys(ours)
  try {
    const own = names.some((name) => Object.hasOwn(target, name)) ? Object.create(null) : null
    const known = own === null ? ofClass.get(ours) : undefined
    /** @type {Replaced} */
    const replaced = known !== undefined && names.every((name) => known[name] === target[name]) ? known : { ours, own }
    for (const name of names) {
      const before = Object.getOwnPropertyDescriptor(target, name)
      if (typeof target[name] !== 'function' || before?.writable === false) return giveBackAll(target, replaced)
      if (replaced !== known) replaced[name] = target[name]
      if (before !== undefined) own[name] = before
      if (!hide(target, name, ours[name])) return giveBackAll(target, replaced)
    }
    if (own === null) ofClass.set(ours, replaced)
    return replaced
  } catch {
    return null
  }
}

/** @param {any} target @param {Replaced} replaced @returns {null} */
function giveBackAll (target, { ours, own }) {
  for (const name of Object.keys(ours)) {
    if (target[name] !== ours[name]) continue
    if (own?.[name] !== undefined) Reflect.defineProperty(target, name, /** @type {any} */ (own[name]))
    else delete target[name]
  }
  return null
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
