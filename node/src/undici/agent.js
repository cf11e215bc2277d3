import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { composed, dispatchThrough, kBase, kSettings } from './dispatch.js'
import { agentFactoryFor, resolveSettings, wantsNoDelay } from './factory.js'

/** @typedef {undici.Agent.Options & import('./factory.js').Options} AgentOptions */

/**
 * undici's Agent whose requests leave in one write, at once. It takes undici's options, and ours beside them.
 * With a `factory` of your own give that one `clientFactory()`: this class cannot reach into clients made elsewhere.
 */
export class Agent extends undici.Agent {
  /**
   * @param {AgentOptions} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) {
    const settings = resolveSettings(options)
    const rest = withoutOurs(options)
    super(settings.config.disabled || rest.factory !== undefined ? rest : { ...rest, factory: agentFactoryFor(settings, wantsNoDelay(rest.connect)) })
    this[kSettings] = settings
  }

  /**
   * @param {undici.Agent.DispatchOptions} opts
   * @param {undici.Dispatcher.DispatchHandler} handler
   * @returns {boolean}
   */
  dispatch (opts, handler) {
    return dispatchThrough(this, opts, handler)
  }

  /** @param {any} opts @param {any} handler */
  [kBase] (opts, handler) { return super.dispatch(opts, handler) }

  /**
   * With retries and redirects composed on it, a call is one record with an attempt for each try.
   * @param {any[]} interceptors
   * @returns {any}
   */
  compose (...interceptors) {
    return super.compose(composed(this, interceptors))
  }
}
