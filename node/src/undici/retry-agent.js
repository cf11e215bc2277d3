import * as undici from 'undici'
import { kConfig, oneCall } from './dispatch.js'

/**
 * undici's RetryAgent whose retries are attempts of one timing record. With undici's own class around an Agent of ours
 * each try has a record of its own, because the Agent cannot know which tries belong together.
 */
export class RetryAgent extends undici.RetryAgent {
  #dispatch

  /**
   * @param {undici.Dispatcher} agent an Agent, Pool or ProxyAgent of ours; around any other it behaves as undici's
   *   class
   * @param {undici.RetryHandler.RetryOptions} [options] those of undici
   */
  constructor (agent, options = {}) {
    super(agent, options)
    const own = /** @type {any} */ (agent)
    const plain = (/** @type {any} */ opts, /** @type {any} */ handler) => super.dispatch(opts, handler)
    this.#dispatch = own[kConfig]?.timed ? oneCall(own)(plain) : plain
  }

  dispatch (opts, handler) {
    return this.#dispatch(opts, handler)
  }
}
