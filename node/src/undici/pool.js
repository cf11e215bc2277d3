import * as undici from 'undici'
import { withoutOurs } from '../config.js'
import { composed, dispatchThrough, kBase, kOrigin, kSettings, originOf } from './dispatch.js'
import { clientFactoryFor, resolveSettings, wantsNoDelay } from './factory.js'

/** @typedef {undici.Pool.Options & import('./factory.js').Options} PoolOptions */

/** undici's Pool (connections to one origin) whose requests leave in one write, at once. */
export class Pool extends undici.Pool {
  /**
   * @param {string | URL} origin
   * @param {PoolOptions} [options] undici's options, and ours beside them
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (origin, options = {}) {
    const settings = resolveSettings(options)
    const rest = withoutOurs(options)
    super(origin, settings.config.disabled || rest.factory !== undefined ? rest : { ...rest, factory: clientFactoryFor(settings, wantsNoDelay(rest.connect)) })
    this[kSettings] = settings
    this[kOrigin] = originOf(origin)
  }

  /**
   * @param {undici.Dispatcher.DispatchOptions} opts
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
