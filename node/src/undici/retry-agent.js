import * as undici from 'undici'
import { kSettings, oneCall } from './dispatch.js'

/**
 * undici's RetryAgent whose retries are attempts of one timing record. undici's own class, around an Agent of ours,
 * makes a record of each try: nothing tells the Agent below which tries belong together.
 */
export class RetryAgent extends undici.RetryAgent {
  #dispatch

  /**
   * @param {undici.Dispatcher} agent an Agent, Pool or ProxyAgent of ours; around any other this is undici's class
   * @param {undici.RetryHandler.RetryOptions} [options] undici's
   */
  constructor (agent, options = {}) {
    super(agent, options)
    const own = /** @type {any} */ (agent)
    const hooks = own[kSettings]?.hooks ?? null
    const plain = (/** @type {any} */ opts, /** @type {any} */ handler) => super.dispatch(opts, handler)
    this.#dispatch = hooks === null ? plain : oneCall(own, hooks)(plain)
  }

  /**
   * @param {undici.Dispatcher.DispatchOptions} opts
   * @param {undici.Dispatcher.DispatchHandler} handler
   * @returns {boolean}
   */
  dispatch (opts, handler) {
    return this.#dispatch(opts, handler)
  }
}
