/** undici's Agent. */

import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { configOf, factoryFor, orEmpty } from './client.js'

/** @typedef {undici.Agent.Options & import('../config.js').Options} AgentOptions */

/** @type {typeof undici.Agent} */
const Base = orEmpty(undici.Agent)

/**
 * undici's Agent whose requests leave in one write, at once. It takes undici's options, and ours beside them.
 * With a `factory` of your own, give the pools that it makes `factory: clientFactory()`: this class cannot change
 * clients that are made elsewhere.
 */
export class Agent extends Base {
  /**
   * @param {AgentOptions} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) {
    const config = configOf(options, options.connect)
    super(withoutOurs(options, config.stock || options.factory !== undefined ? {} : { factory: factoryFor(config) }))
  }
}
