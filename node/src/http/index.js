/** The part for node:http. It does not load undici. */

export { HttpAgent, HttpsAgent } from './agent.js'
export { guardNodeHttp, unguardNodeHttp } from './guard.js'
export { hookFailures } from '../timing/hooks.js'

/** @typedef {import('../config.js').Options} Options */
/** @typedef {import('../timing/record.js').TimingRecord} TimingRecord */
/** @typedef {import('./agent.js').HttpAgentOptions} HttpAgentOptions */
/** @typedef {import('./agent.js').HttpsAgentOptions} HttpsAgentOptions */
