/** undici's Pool. */

import { withoutOurs } from '../config.js'
import { clientFactoryFor, configOf, setUp, TimedPool } from './client.js'

/** @typedef {import('undici').Pool.Options & import('../config.js').Options} PoolOptions */

/** @type {typeof import('undici').Pool} */
const Base = /** @type {any} */ (TimedPool)

/** undici's Pool (connections to one origin) whose requests leave in one write, at once. */
export class Pool extends Base {
  /**
   * @param {string | URL} origin
   * @param {PoolOptions} [options] undici's options, and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (origin, options = {}) {
    const config = configOf(options, options.connect)
    const isOwn = config.stock || options.factory !== undefined
    super(origin, withoutOurs(options, isOwn ? {} : { factory: clientFactoryFor(config) }))
    if (!config.stock) setUp(this, config, origin)
  }
}
