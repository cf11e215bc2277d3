/**
 * The way into undici: the documented `factory` option of Agent, Pool and similar classes. It makes undici's clients,
 * each of which is one connection to one origin, with the same options and a wrapped connector.
 */

import { Client, Pool } from 'undici'
import { baseIsSupported, kConnector } from '../base-version.js'
import { mostHeld, resolveConfig, setsNoDelay } from '../config.js'
import { hide } from '../patch.js'
import { resolveHooks } from '../timing/hooks.js'
import { leaveSocket, originOf, peerOf, wrapConnector } from './connector.js'
import { kOrigin, setUp, withDispatch } from './dispatch.js'
import { Handler } from './handlers.js'

/** @typedef {import('../config.js').Options & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {import('./connector.js').ClientConfig} ClientConfig */
/** @typedef {(origin: any, options: any) => any} Factory */

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
  return { ...config, hooks, timed: hooks !== null, noDelay: connect?.noDelay !== false }
}

/** Where a client has its connection. Hidden: programs get clients by the event 'connect'. */
const kLine = Symbol('onewrite line')

/** undici's client with a wrapped connector. */
class WiredClient extends /** @type {any} */ (Client) {
  /** @param {any} origin @param {any} options @param {ClientConfig} config */
  constructor (origin, options, config) {
    super(origin, options)
    const own = /** @type {any} */ (this)
    /** @type {import('./connector.js').Line} */
    const line = { socket: null, connection: null, origin }
    hide(this, kLine, line)
    if (config.timed) setUp(this, config)
    own[kConnector] = wrapConnector(own[kConnector], config, line)
    // undici emits it before it passes the socket of an upgrade or a tunnel on.
    this.on('disconnect', onDisconnect)
  }
}

/** @this {any} */
function onDisconnect () { leaveSocket(this[kLine]) }

/** A client that passes its connection to each attempt. It is made only where there may be hooks. */
const TimedClient = /** @type {any} */ (class extends withDispatch(/** @type {any} */ (WiredClient), sendOnLine) {
  get [kOrigin] () { return originOf(/** @type {any} */ (this)[kLine].origin) }
})

/** @this {any} a TimedClient @param {any} opts @param {any} handler @returns {boolean} */
function sendOnLine (opts, handler) {
  /** @type {any} */
  const { dispatch } = Client.prototype
  const line = this[kLine]
  if (!(handler instanceof Handler && handler.bind(line))) {
    if (line.connection !== null) line.connection.requests++
    return dispatch.call(this, opts, handler)
  }
  const { path } = opts
  // A whole URL is for a proxy that forwards.
  if (typeof path === 'string' && path.startsWith('http')) handler.proxy = peerOf(new URL(this[kOrigin]))
  const { observed } = handler
  return observed === null
    ? dispatch.call(this, opts, handler)
    : observed.within(() => dispatch.call(this, opts, handler))
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
 * A factory for a dispatcher that makes its own pools: undici's BalancedPool, RoundRobinPool, Pool, or one of your own.
 * `new BalancedPool(urls, { factory: (origin, options) => new Pool(origin, { ...options, factory: clientFactory() })
 * })`.
 * @param {Options} [options] A hook given here is called for each request, timed from when the dispatcher passes it to
 *   a client: time in the dispatcher's own queue is not in the record.
 * @returns {(origin: string | URL, options: object) => import('undici').Dispatcher}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function clientFactory (options = {}) { return clientFactoryFor(configOf(options, false)) }

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
