/** A factory for the `factory` option of undici's classes, for users who make their own dispatcher. */

import { clientFactoryFor, configOf } from './factory.js'

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
