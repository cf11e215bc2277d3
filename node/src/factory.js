/**
 * The hook into undici: the documented `factory` option of Agent, Pool and their kin. When a factory is called the
 * options are complete, so undici's own connector (timeouts, TLS sessions, address families, socketPath, HTTP/2)
 * or the user's function is there to be wrapped and nothing has to be done again.
 */

import { buildConnector, Client, Pool } from 'undici'
import { baseIsSupported } from './base.js'
import { resolveConfig } from './config.js'
import { wrapConnector } from './connector.js'
import { callOf, dispatchThrough, kBase, kOrigin, kSettings, originOf } from './dispatch.js'
import { refuseUnknown } from './options.js'
import { resolveHooks } from './timing/hooks.js'

/** @typedef {import('./config.js').Switches & import('./timing/hooks.js').HookOptions} Options */
/** @typedef {import('./connector.js').Settings} Settings */

/**
 * @param {Options} options
 * @param {boolean} [besideUndicis] undici's options stand in the same object
 * @returns {Settings}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function resolveSettings (options, besideUndicis = true) {
  const asked = resolveConfig(options)
  refuseUnknown(options, besideUndicis)
  const config = asked.disabled || baseIsSupported() ? asked : { ...asked, disabled: true }
  return { config, hooks: resolveHooks(options, config) }
}

/**
 * A client that tells a call which connection it will get. Only made where a hook exists. A request that comes from a
 * dispatcher of the user's own brings no call: it begins here.
 */
class TimedClient extends Client {
  #slot

  /**
   * @param {string | URL} origin
   * @param {any} options
   * @param {{connection: import('./timing/connection.js').Connection | null}} slot
   * @param {Settings} settings
   */
  constructor (origin, options, slot, settings) {
    super(origin, options)
    this.#slot = slot
    this[kSettings] = settings
    this[kOrigin] = originOf(origin)
  }

  /**
   * @param {any} opts
   * @param {any} handler
   */
  dispatch (opts, handler) {
    return dispatchThrough(this, opts, handler)
  }

  /** @param {any} opts @param {any} handler */
  [kBase] (opts, handler) {
    const call = callOf(opts, handler)
    if (call !== undefined) call.slot = this.#slot
    return super.dispatch(opts, handler)
  }
}

/**
 * @param {string | URL} origin
 * @param {any} options of a Client, with a finished connector
 * @param {Settings} settings
 * @param {boolean} noDelay
 */
function makeClient (origin, options, settings, noDelay) {
  const slot = { connection: null }
  const wrapped = typeof options.connect === 'function' ? { ...options, connect: wrapConnector(options.connect, settings, noDelay, slot) } : options
  return settings.hooks === null ? new Client(origin, wrapped) : new TimedClient(origin, wrapped, slot, settings)
}

/**
 * A factory of clients for `new undici.Pool(origin, { factory })`, BalancedPool and RoundRobinPool.
 * @param {Settings} settings
 * @param {boolean} [noDelay]
 * @returns {(origin: string | URL, options: object) => import('undici').Dispatcher}
 */
export function clientFactoryFor (settings, noDelay = true) {
  return (origin, options) => makeClient(origin, withConnector(options), settings, noDelay)
}

/**
 * A factory of pools for `new undici.Agent({ factory })` and ProxyAgent; a single client for `connections: 1`, as undici.
 * @param {Settings} settings
 * @param {boolean} [noDelay]
 * @returns {(origin: string | URL, options: any) => import('undici').Dispatcher}
 */
export function agentFactoryFor (settings, noDelay = true) {
  const factory = clientFactoryFor(settings, noDelay)
  return (origin, options) => options?.connections === 1
    ? factory(origin, options)
    : new Pool(origin, { ...options, factory })
}

/**
 * A Pool hands finished connectors to its factory, an Agent does not: then undici's public builder makes it from the
 * same options as undici's Client does (undici lib/dispatcher/client.js, constructor).
 * @param {any} options
 */
function withConnector (options) {
  const given = options.connect
  // What is neither, undici refuses when it makes the client.
  if (typeof given === 'function' || (given !== undefined && given !== null && typeof given !== 'object')) return options
  const { connect, tls, connectTimeout, maxCachedSessions, socketPath, allowH2, useH2c, autoSelectFamily, autoSelectFamilyAttemptTimeout } = options
  return {
    ...options,
    connect: buildConnector(/** @type {any} */ ({
      ...tls,
      maxCachedSessions,
      allowH2,
      useH2c,
      socketPath,
      timeout: connectTimeout,
      ...(typeof autoSelectFamily === 'boolean' ? { autoSelectFamily, autoSelectFamilyAttemptTimeout } : null),
      ...connect
    }))
  }
}

/** @param {any} connect the user's `connect` option */
export function wantsNoDelay (connect) {
  return connect?.noDelay !== false
}
