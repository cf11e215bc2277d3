/** The part for node:http. It does not load undici. */

export { HttpAgent, HttpsAgent } from './agent.js'
export { guardNodeHttp, unguardNodeHttp } from './guard.js'
export { Timing } from '../timing/record.js'
export { hookFailures, withTimingId } from '../timing/hooks.js'

/** @typedef {import('../config.js').Options} Options */
/** @typedef {import('../timing/events.js').TimingEvent} TimingEvent */
/** @typedef {import('../timing/events.js').TimingListener} TimingListener */
/** @typedef {import('../timing/record.js').Attempt} Attempt */
/** @typedef {import('./agent.js').HttpAgentOptions} HttpAgentOptions */
/** @typedef {import('./agent.js').HttpsAgentOptions} HttpsAgentOptions */
