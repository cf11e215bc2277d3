/** Factories for the `factory` option of undici's classes, for users who make their own dispatcher. */

import * as undici from 'undici'
import { kOrigin, kConfig, originOf, withDispatch } from './dispatch.js'
import { agentFactoryFor, clientFactoryFor, configOf, wantsNoDelay } from './factory.js'

/** @typedef {import('./factory.js').Options} Options */

/**
 * For a dispatcher that makes its own pools: undici's BalancedPool, RoundRobinPool, Pool, or one of your own.
 * `new BalancedPool(urls, { factory: (origin, options) => new Pool(origin, { ...options, factory: clientFactory() }) })`.
 * @param {Options} [options] A hook given here is called for each request, timed from when the dispatcher passes it to a
 *   client: time in the dispatcher's own queue is not in the record. A hook of this package's Agent or Pool above replaces
 *   it.
 * @returns {(origin: string | URL, options: object) => undici.Dispatcher}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function clientFactory (options = {}) {
  return clientFactoryFor(configOf(options, false))
}

/**
 * For undici's own Agent or ProxyAgent: `new undici.Agent({ factory: agentFactory() })`.
 * @param {Options} [options] A hook given here is called for each request that the Agent passes to the pools made here.
 * @returns {(origin: string | URL, options: any) => undici.Dispatcher}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function agentFactory (options = {}) {
  const config = configOf(options, false)
  return (origin, poolOptions) => {
    const noDelay = wantsNoDelay(poolOptions?.connect)
    return !config.timed || poolOptions?.connections === 1
      ? agentFactoryFor(config, noDelay)(origin, poolOptions)
      : new TimedPool(origin, { ...poolOptions, factory: clientFactoryFor(config, noDelay) }, config)
  }
}

/** A pool whose records include the time in its queue. */
class TimedPool extends withDispatch(undici.Pool) {
  /**
   * @param {string | URL} origin
   * @param {any} options
   * @param {import('./factory.js').ClientConfig} config
   */
  constructor (origin, options, config) {
    super(origin, options)
    this[kConfig] = config
    this[kOrigin] = originOf(origin)
  }
}
