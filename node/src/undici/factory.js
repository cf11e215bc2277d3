/**
 * The way into undici: the documented `factory` option of Agent, Pool and similar classes. It makes undici's clients,
 * each of which is one connection to one origin, with the same options and a wrapped connector.
 */

import { Client, Pool } from 'undici'
import { baseIsSupported, kConnector } from '../base-version.js'
import { mostHeld, resolveConfig, setsNoDelay } from '../config.js'
import { resolveHooks } from '../timing/hooks.js'
import { leaveSocket, wrapConnector } from './connector.js'
import { kBase, kConfig, kOrigin, originOf, withDispatch } from './dispatch.js'

/** @typedef {import('../config.js').Options & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {import('./connector.js').ClientConfig} ClientConfig */
/** @typedef {(origin: string | URL, options: any) => any} Factory */

/**
 * @param {Options} options
 * @param {boolean} [besideUndicis] the object holds undici's options too
 * @param {any} [connect] the user's options of the connector
 * @returns {ClientConfig}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function configOf (options, besideUndicis = true, connect = undefined) {
  const asked = resolveConfig(options, besideUndicis)
  const config = asked.disabled || baseIsSupported() ? asked : { ...asked, disabled: true }
  const hooks = resolveHooks(options, config)
  return { ...config, hooks, timed: hooks !== null, noDelay: connect?.noDelay !== false, source: {} }
}

/** undici's client with a wrapped connector. */
class WiredClient extends /** @type {any} */ (Client) {
  /** @type {import('./connector.js').Line} */
  line = { socket: null, connection: null }

  constructor (origin, options, config) {
    super(origin, options)
    const own = /** @type {any} */ (this)
    own[kConnector] = wrapConnector(own[kConnector], config, this.line)
    // undici emits it before it passes the socket of an upgrade or a tunnel on.
    this.on('disconnect', () => leaveSocket(this.line))
  }
}

/**
 * A client that tells a call which connection it will get. It is made only where there are hooks. For a request from a
 * dispatcher that is not ours the call begins here.
 */
class TimedClient extends /** @type {any} */ (withDispatch(/** @type {any} */ (WiredClient))) {
  constructor (origin, options, config) {
    super(origin, options, config)
    this[kConfig] = config
    this[kOrigin] = originOf(origin)
  }

  [kBase] (opts, handler, call) {
    // V8 looks up `super[kBase]` anew at each call.
    const { dispatch } = /** @type {any} */ (Client.prototype)
    call?.carriedBy(this.line)
    return call?.observed
      ? call.observed.within(() => dispatch.call(this, opts, handler))
      : dispatch.call(this, opts, handler)
  }
}

/**
 * @param {ClientConfig} config
 * @returns {Factory} of clients for `new undici.Pool(origin, { factory })`, BalancedPool and RoundRobinPool
 */
export function clientFactoryFor (config) {
  const stock = !config.timed && mostHeld(config) === 0 && !setsNoDelay(config)
  return (origin, options) => {
    if (config.disabled || stock) return new Client(origin, options)
    return config.timed ? new TimedClient(origin, options, config) : new WiredClient(origin, options, config)
  }
}

/**
 * @param {ClientConfig} config
 * @returns {Factory} of pools for `new undici.Agent({ factory })` and ProxyAgent; for `connections: 1` of clients, as
 *   undici does
 */
export function agentFactoryFor (config) {
  const factory = clientFactoryFor(config)
  return (origin, options) => options?.connections === 1
    ? factory(origin, options)
    : new Pool(origin, { ...options, factory })
}
