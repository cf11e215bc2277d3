import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { withFactory } from './agent.js'
import { kConfig, setUp, withDispatch } from './dispatch.js'
import { clientFactoryFor, configOf } from './factory.js'

/** @typedef {undici.Pool.Options & import('./factory.js').Options} PoolOptions */

/** undici's Pool (connections to one origin) whose requests leave in one write, at once. */
export class Pool extends withDispatch(undici.Pool) {
  /**
   * @param {string | URL} origin
   * @param {PoolOptions} [options] undici's options, and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (origin, options = {}) {
    const config = /** @type {any} */ (options)[kConfig] ?? configOf(options, true, options.connect)
    super(origin, withoutOurs(options, withFactory(options, config, clientFactoryFor)))
    setUp(this, config, origin)
  }
}
