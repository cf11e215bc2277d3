/** Factories for the `factory` option of undici's classes, for users who make their own dispatcher. */

import { kConfig } from './dispatch.js'
import { agentFactoryFor, clientFactoryFor, configOf } from './factory.js'
import { Pool } from './pool.js'

/** @typedef {import('./factory.js').Options} Options */

/**
 * For a dispatcher that makes its own pools: undici's BalancedPool, RoundRobinPool, Pool, or one of your own.
 * `new BalancedPool(urls, { factory: (origin, options) => new Pool(origin, { ...options, factory: clientFactory() })
 * })`.
 * @param {Options} [options] A hook given here is called for each request, timed from when the dispatcher passes it to
 *   a client: time in the dispatcher's own queue is not in the record.
 * @returns {(origin: string | URL, options: object) => import('undici').Dispatcher}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function clientFactory (options = {}) {
  return clientFactoryFor(configOf(options, false))
}

/**
 * For undici's own Agent or ProxyAgent: `new undici.Agent({ factory: agentFactory() })`.
 * @param {Options} [options] A hook given here is called for each request that the Agent passes to the pools made here.
 * @returns {(origin: string | URL, options: any) => import('undici').Dispatcher}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function agentFactory (options = {}) {
  const config = configOf(options, false)
  return (origin, poolOptions) => {
    const own = { ...config, noDelay: poolOptions?.connect?.noDelay !== false }
    // A Pool of ours begins the record when it gets the request, so the record includes the time in its queue.
    return !config.timed || poolOptions?.connections === 1
      ? agentFactoryFor(own)(origin, poolOptions)
      : new Pool(origin, { ...poolOptions, [kConfig]: own })
  }
}
