/** undici's dispatchers that send through a proxy. */

import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { configOf, factoryFor, orEmpty, TunnelPool } from './client.js'

/** @typedef {import('../config.js').Options} Options */
/** @typedef {undici.ProxyAgent.Options & Options} ProxyAgentOptions */
/** @typedef {undici.EnvHttpProxyAgent.Options & Options} EnvHttpProxyAgentOptions */

/** @type {typeof undici.ProxyAgent} */
const ProxyBase = orEmpty(undici.ProxyAgent)
/** @type {typeof undici.EnvHttpProxyAgent} */
const EnvBase = orEmpty(undici.EnvHttpProxyAgent)

/** undici's ProxyAgent whose requests leave in one write, at once, forwarded or through a CONNECT tunnel. */
export class ProxyAgent extends ProxyBase {
  /**
   * @param {string | URL | ProxyAgentOptions} options the proxy's address, or undici's options and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options) {
    const isAddress = typeof options === 'string' || options instanceof URL
    super(withFactories(isAddress ? { uri: String(options) } : options))
  }
}

/** undici's EnvHttpProxyAgent (HTTP_PROXY, HTTPS_PROXY, NO_PROXY) whose requests leave in one write, at once. */
export class EnvHttpProxyAgent extends EnvBase {
  /**
   * @param {EnvHttpProxyAgentOptions} [options] undici's options, and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) { super(withFactories(options)) }
}

/** @param {any} options @returns {any} undici's, with factories where the program has none */
function withFactories (options) {
  // undici refuses it, in its own way.
  if (options === null || typeof options !== 'object') return options
  const config = configOf(options, options.connect ?? options.proxyTls)
  if (config.stock) return withoutOurs(options)
  // undici makes a pool of connections to the proxy for its CONNECT requests.
  const clientFactory = (/** @type {any} */ origin, /** @type {any} */ poolOptions) =>
    new TunnelPool(origin, poolOptions, config)
  return withoutOurs(options, {
    ...(options.factory ? null : { factory: factoryFor(config) }),
    ...(options.clientFactory === undefined ? { clientFactory } : null)
  })
}
