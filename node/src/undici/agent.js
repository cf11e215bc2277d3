import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { kConfig, setUp, withDispatch } from './dispatch.js'
import { agentFactoryFor, configOf } from './factory.js'

/** @typedef {undici.Agent.Options & import('./factory.js').Options} AgentOptions */

/**
 * undici's Agent whose requests leave in one write, at once. It takes undici's options, and ours beside them.
 * With a `factory` of your own, give the pools that it makes `factory: clientFactory()`: this class cannot change
 * clients that are made elsewhere.
 */
export class Agent extends withDispatch(undici.Agent) {
  /**
   * @param {AgentOptions} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) {
    const config = /** @type {any} */ (options)[kConfig] ?? configOf(options, true, options.connect)
    super(withoutOurs(options, withFactory(options, config, agentFactoryFor)))
    setUp(this, config)
  }
}

/**
 * @param {any} options
 * @param {import('./factory.js').ClientConfig} config
 * @param {(config: import('./factory.js').ClientConfig) => import('./factory.js').Factory} factoryFor
 * @returns {{factory?: import('./factory.js').Factory}} ours, where the user gives none
 */
export function withFactory (options, config, factoryFor) {
  return config.disabled || options.factory !== undefined ? {} : { factory: factoryFor(config) }
}
