import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { kOrigin, kConfig, originOf, withDispatch } from './dispatch.js'
import { clientFactoryFor, configOf, wantsNoDelay } from './factory.js'

/** @typedef {undici.Pool.Options & import('./factory.js').Options} PoolOptions */

/** undici's Pool (connections to one origin) whose requests leave in one write, at once. */
export class Pool extends withDispatch(undici.Pool) {
  /**
   * @param {string | URL} origin
   * @param {PoolOptions} [options] undici's options, and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (origin, options = {}) {
    const config = /** @type {any} */ (options)[kConfig] ?? configOf(options)
    const rest = withoutOurs(options)
    super(origin, config.disabled || rest.factory !== undefined ? rest : { ...rest, factory: clientFactoryFor(config, wantsNoDelay(rest.connect)) })
    this[kConfig] = config
    this[kOrigin] = originOf(origin)
  }
}
