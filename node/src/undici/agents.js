/** Dispatchers of undici whose requests leave in one write, at once. They take its options, and ours beside them. */

import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { peerOf } from './connector.js'
import { dispatchTimed, kConfig, setUp, withDispatch } from './dispatch.js'
import { agentFactoryFor, clientFactoryFor, configOf } from './factory.js'

/** @typedef {import('./factory.js').ClientConfig} ClientConfig */
/** @typedef {import('./factory.js').Factory} Factory */
/** @typedef {import('./factory.js').Options} Options */
/** @typedef {undici.Agent.Options & Options} AgentOptions */
/** @typedef {undici.Pool.Options & Options} PoolOptions */
/** @typedef {undici.ProxyAgent.Options & Options} ProxyAgentOptions */
/** @typedef {undici.EnvHttpProxyAgent.Options & Options} EnvHttpProxyAgentOptions */

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

/**
 * @param {any} options @param {ClientConfig} config @param {(config: ClientConfig) => Factory} factoryFor
 * @returns {{factory?: Factory}} ours, where the user gives none
 */
function withFactory (options, config, factoryFor) {
  return config.disabled || options.factory !== undefined ? {} : { factory: factoryFor(config) }
}

/** undici's ProxyAgent whose requests leave in one write, at once, forwarded or through a CONNECT tunnel. */
export class ProxyAgent extends withDispatch(undici.ProxyAgent) {
  /**
   * @param {string | URL | ProxyAgentOptions} options the proxy's address, or undici's options and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options) {
    const all = typeof options === 'string' || options instanceof URL ? { uri: String(options) } : options
    const config = configOf(all ?? {}, true, all?.proxyTls)
    super(withoutOurs(all, withFactories(all, config)))
    setUp(this, config)
  }
}

/**
 * undici's EnvHttpProxyAgent (proxies from the environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY) whose requests leave in
 * one write, at once.
 */
export class EnvHttpProxyAgent extends withDispatch(undici.EnvHttpProxyAgent) {
  /**
   * @param {EnvHttpProxyAgentOptions} [options] undici's options, and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) {
    const { connect, proxyTls } = /** @type {any} */ (options)
    const config = /** @type {any} */ (options)[kConfig] ?? configOf(options, true, connect ?? proxyTls)
    super(withoutOurs(options, withFactories(options, config)))
    setUp(this, config)
  }
}

/**
 * @param {any} options @param {ClientConfig} config
 * @returns {Record<string, unknown>} ours, where the user gives none
 */
function withFactories (options, config) {
  if (config.disabled || !options) return {}
  /** @type {import('./connector.js').Connecting} */
  const connecting = { connection: null }
  const factory = agentFactoryFor({ ...config, get hooks () { return config.hooks }, connecting })
  const toProxy = clientFactoryFor({ ...config, hooks: null, timed: false })
  return {
    ...(options.factory ? null : { factory }),
    // undici makes a pool of connections to the proxy for its CONNECT requests.
    ...(options.clientFactory === undefined
      ? {
          clientFactory: (/** @type {any} */ origin, /** @type {any} */ poolOptions) =>
            new TunnelPool(origin, { ...poolOptions, factory: toProxy }, connecting)
        }
      : null)
  }
}

/**
 * Connections to the proxy. The connection that requests a tunnel learns when the tunnel is open: then its TLS begins.
 */
class TunnelPool extends undici.Pool {
  #connecting
  #peer

  /** @param {any} origin @param {any} options @param {import('./connector.js').Connecting} connecting */
  constructor (origin, options, connecting) {
    super(origin, options)
    this.#connecting = connecting
    this.#peer = peerOf(new URL(origin))
  }

  /** @param {any} params @param {any} [callback] */
  connect (params, callback) {
    const { connection } = this.#connecting
    if (callback !== undefined || connection === null) return /** @type {any} */ (super.connect(params, callback))
    connection.proxy = this.#peer
    if (connection.steps !== null) connection.steps.peer = this.#peer
    return super.connect(params).then((data) => {
      if (data.statusCode === 200) connection.connected()
      return data
    })
  }
}

/**
 * undici's RetryAgent whose retries are attempts of one timing record. With undici's own class around an Agent of ours
 * each attempt is a separate record.
 */
export class RetryAgent extends undici.RetryAgent {
  #agent

  /**
   * @param {undici.Dispatcher} agent an Agent, Pool or ProxyAgent of ours; around any other it behaves as undici's
   *   class
   * @param {undici.RetryHandler.RetryOptions} [options] those of undici
   */
  constructor (agent, options = {}) {
    super(agent, options)
    this.#agent = /** @type {any} */ (agent)?.[kConfig]?.timed ? agent : null
  }

  /** @param {any} opts @param {any} handler */
  dispatch (opts, handler) {
    return this.#agent === null
      ? super.dispatch(opts, handler)
      : dispatchTimed(this.#agent, super.dispatch, this, opts, handler, 'above')
  }
}
