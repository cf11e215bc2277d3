/** Methods of one object, such as a socket, that are replaced and given back. Its class stays as it is. */
export class Patch {
  #target
  #methods
  /** Those that the object had itself, not its class. @type {string[]} */
  #own = []
  /** The replaced methods by name. @type {any} */
  originals = {}

  /** @param {any} target @param {Record<string, Function>} methods those that the target has are replaced */
  constructor (target, methods) {
    this.#target = target
    this.#methods = methods
    for (const name of Object.keys(methods)) {
      if (typeof target[name] !== 'function') continue
      if (Object.hasOwn(target, name)) this.#own.push(name)
      this.originals[name] = target[name]
      target[name] = methods[name]
    }
  }

  /** @returns {boolean} false: methods of others stand on ours, so ours stay */
  remove () {
    const names = Object.keys(this.originals)
    if (names.some((name) => this.#target[name] !== this.#methods[name])) return false
    for (const name of names) {
      if (this.#own.includes(name)) this.#target[name] = this.originals[name]
      else delete this.#target[name]
    }
    return true
  }
}
