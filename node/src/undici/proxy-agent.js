import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { kConfig, withDispatch } from './dispatch.js'
import { agentFactoryFor, clientFactoryFor, configOf, wantsNoDelay } from './factory.js'

/** @typedef {undici.ProxyAgent.Options & import('./factory.js').Options} ProxyAgentOptions */

/**
 * undici's ProxyAgent whose requests leave in one write, at once, forwarded or through a CONNECT tunnel.
 * SOCKS proxies stay as undici makes them.
 */
export class ProxyAgent extends withDispatch(undici.ProxyAgent) {
  /**
   * @param {string | URL | ProxyAgentOptions} options the proxy's address, or undici's options and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options) {
    const own = typeof options === 'string' || options instanceof URL ? { uri: String(options) } : options
    const config = configOf(own ?? {})
    const rest = own && withoutOurs(own)
    super(!rest || config.disabled ? rest : withFactories(rest, config))
    this[kConfig] = config
  }
}

/**
 * @param {any} options
 * @param {import('./factory.js').ClientConfig} config
 */
function withFactories (options, config) {
  const noDelay = wantsNoDelay(options.proxyTls)
  const connecting = { connection: null }
  const toOrigin = agentFactoryFor({ ...config, connecting }, noDelay)
  const toForwarder = clientFactoryFor(config, noDelay)
  // undici passes these to the pool of a tunnelled origin, but not to the pool of a forwarding proxy.
  const { connections, pipelining } = options
  const limits = { ...(connections === undefined ? null : { connections }), ...(pipelining === undefined ? null : { pipelining }) }
  const toProxy = clientFactoryFor({ ...config, hooks: null, timed: false }, noDelay)
  const { factory, clientFactory } = options
  return {
    ...options,
    factory: factory || ((/** @type {any} */ origin, /** @type {any} */ poolOptions) => 'connections' in poolOptions
      ? toOrigin(origin, poolOptions)
      : new undici.Pool(origin, { ...limits, ...poolOptions, factory: toForwarder })),
    // undici makes a Pool of connections to the proxy for its CONNECT requests.
    clientFactory: clientFactory !== undefined
      ? clientFactory
      : (/** @type {any} */ origin, /** @type {any} */ poolOptions) => new TunnelPool(origin, { ...poolOptions, factory: toProxy }, connecting)
  }
}

/** Connections to the proxy. It notes when the proxy has opened a tunnel, because TLS begins then. */
class TunnelPool extends undici.Pool {
  #connecting

  /** @param {any} origin @param {any} options @param {{connection: import('../timing/connection.js').Connection | null}} connecting */
  constructor (origin, options, connecting) {
    super(origin, options)
    this.#connecting = connecting
  }

  /** @param {any} params @param {any} [callback] */
  connect (params, callback) {
    const { connection } = this.#connecting
    if (callback !== undefined || connection === null) return /** @type {any} */ (super.connect(params, callback))
    return super.connect(params).then((data) => {
      if (data.statusCode === 200) connection.connected()
      return data
    })
  }
}
