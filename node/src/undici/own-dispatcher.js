/** The helpers for users with a dispatcher of their own: factories for the documented option of undici's classes. */

import * as undici from 'undici'
import { kOrigin, kSettings, originOf, withDispatch } from './dispatch.js'
import { agentFactoryFor, clientFactoryFor, resolveSettings, wantsNoDelay } from './factory.js'

/** @typedef {import('./factory.js').Options} Options */

/**
 * The helper for a dispatcher that makes its own pools: undici's BalancedPool, RoundRobinPool, Pool, or one of your own.
 * `new BalancedPool(urls, { factory: (origin, options) => new Pool(origin, { ...options, factory: clientFactory() }) })`.
 * @param {Options} [options] A hook given here is called for each request, from when the dispatcher hands it to a client:
 *   what it queues itself is in no record. A hook on this package's Agent or Pool above takes the place of these.
 * @returns {(origin: string | URL, options: object) => undici.Dispatcher}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function clientFactory (options = {}) {
  return clientFactoryFor(resolveSettings(options, false))
}

/**
 * The helper for an undici Agent or ProxyAgent of one's own: `new undici.Agent({ factory: agentFactory() })`.
 * @param {Options} [options] A hook given here is called for each request that the Agent hands to this factory's pools.
 * @returns {(origin: string | URL, options: any) => undici.Dispatcher}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function agentFactory (options = {}) {
  const settings = resolveSettings(options, false)
  return (origin, poolOptions) => {
    const noDelay = wantsNoDelay(poolOptions?.connect)
    return settings.hooks === null || poolOptions?.connections === 1
      ? agentFactoryFor(settings, noDelay)(origin, poolOptions)
      : new TimedPool(origin, { ...poolOptions, factory: clientFactoryFor(settings, noDelay) }, settings)
  }
}

/** A pool that begins the record before it queues. */
class TimedPool extends withDispatch(undici.Pool) {
  /**
   * @param {string | URL} origin
   * @param {any} options
   * @param {import('./factory.js').Settings} settings
   */
  constructor (origin, options, settings) {
    super(origin, options)
    this[kSettings] = settings
    this[kOrigin] = originOf(origin)
  }
}
