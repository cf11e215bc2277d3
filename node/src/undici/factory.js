/**
 * The way into undici: the documented `factory` option of Agent, Pool and similar classes. A factory gets complete options,
 * so the connector of undici (timeouts, TLS sessions, address families, socketPath, HTTP/2) or of the user is there to be
 * wrapped, and none of its work is repeated.
 */

import { Pool } from 'undici'
import { baseIsSupported } from '../base-version.js'
import { resolveConfig } from '../config.js'
import { makeClient } from './client.js'
import { resolveHooks } from '../timing/hooks.js'

/** @typedef {import('../config.js').Options & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {import('./connector.js').ClientConfig} ClientConfig */

/**
 * @param {Options} options
 * @param {boolean} [besideUndicis] the object holds undici's options too
 * @returns {ClientConfig}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function configOf (options, besideUndicis = true) {
  const asked = resolveConfig(options, besideUndicis)
  const config = asked.disabled || baseIsSupported() ? asked : { ...asked, disabled: true }
  const hooks = resolveHooks(options, config)
  return { ...config, hooks, timed: hooks !== null }
}

/**
 * A factory of clients for `new undici.Pool(origin, { factory })`, BalancedPool and RoundRobinPool.
 * @param {ClientConfig} config
 * @param {boolean} [noDelay]
 * @returns {(origin: string | URL, options: object) => import('undici').Dispatcher}
 */
export function clientFactoryFor (config, noDelay = true) {
  return (origin, options) => makeClient(origin, options, config, noDelay)
}

/**
 * A factory of pools for `new undici.Agent({ factory })` and ProxyAgent. For `connections: 1` it makes a client, as undici
 * does.
 * @param {ClientConfig} config
 * @param {boolean} [noDelay]
 * @returns {(origin: string | URL, options: any) => import('undici').Dispatcher}
 */
export function agentFactoryFor (config, noDelay = true) {
  const factory = clientFactoryFor(config, noDelay)
  return (origin, options) => options?.connections === 1
    ? factory(origin, options)
    : new Pool(origin, { ...options, factory })
}

/** @param {any} connect the user's `connect` option */
export function wantsNoDelay (connect) {
  return connect?.noDelay !== false
}
