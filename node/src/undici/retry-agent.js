import * as undici from 'undici'
import { callOf, configIn, send } from './dispatch.js'

/**
 * undici's RetryAgent whose retries are attempts of one timing record. With undici's own class around an Agent of ours
 * each try has a record of its own.
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
    this.#agent = configIn(agent)?.timed ? agent : null
  }

  /** @param {any} opts @param {any} handler */
  dispatch (opts, handler) {
    const call = this.#agent === null ? null : callOf(this.#agent, opts, handler, 'above')
    return call === null ? super.dispatch(opts, handler) : send(call, super.dispatch, this, opts)
  }
}
