/** Makes undici's Client, which is one connection to one origin, with a wrapped connector. */

import { buildConnector, Client } from 'undici'
import { wrapConnector } from './connector.js'
import { callOf, kBase, kOrigin, kConfig, originOf, withDispatch } from './dispatch.js'

/** @typedef {import('./connector.js').ClientConfig} ClientConfig */

/**
 * A client that tells a call which connection it will get. It is made only where there are hooks. For a request from a
 * dispatcher that is not ours the call begins here.
 */
class TimedClient extends /** @type {any} */ (withDispatch(Client)) {
  #slot

  /**
   * @param {string | URL} origin
   * @param {any} options
   * @param {{connection: import('../timing/connection.js').Connection | null}} slot
   * @param {ClientConfig} config
   */
  constructor (origin, options, slot, config) {
    super(origin, options)
    this.#slot = slot
    this[kConfig] = config
    this[kOrigin] = originOf(origin)
  }

  /** @param {any} opts @param {any} handler @returns {boolean} */
  dispatch (opts, handler) {
    const call = callOf(opts, handler)
    return call === undefined ? super.dispatch(opts, handler) : this.#send(call, opts, handler)
  }

  /** @param {any} opts @param {any} handler @returns {boolean} */
  [kBase] (opts, handler) { return this.#send(callOf(opts, handler), opts, handler) }

  /** @param {import('../timing/call.js').Call | undefined} call @param {any} opts @param {any} handler @returns {boolean} */
  #send (call, opts, handler) {
    const { dispatch } = Client.prototype
    if (call === undefined) return dispatch.call(this, opts, handler)
    call.slot = this.#slot
    return call.observed === null ? dispatch.call(this, opts, handler) : call.hooks.within(call.observed, () => dispatch.call(this, opts, handler))
  }
}

/**
 * @param {string | URL} origin
 * @param {any} options of a Client
 * @param {ClientConfig} config
 * @param {boolean} noDelay
 * @returns {any}
 */
export function makeClient (origin, options, config, noDelay) {
  const slot = { connection: null }
  const complete = withConnector(options)
  const wrapped = typeof complete.connect === 'function' ? { ...complete, connect: wrapConnector(complete.connect, config, noDelay, slot) } : complete
  return config.timed ? new TimedClient(origin, wrapped, slot, config) : new Client(origin, wrapped)
}

/**
 * A Pool gives its factory a connector, an Agent does not. Then undici's public builder makes one from the same options
 * that undici's Client uses (undici lib/dispatcher/client.js, constructor).
 * @param {any} options
 */
function withConnector (options) {
  const given = options.connect
  // undici refuses a `connect` of another type when it makes the client.
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
