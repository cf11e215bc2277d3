/** The part for node:http. It does not load undici. */

export { HttpAgent, HttpsAgent } from './agent.js'
export { guardNodeHttp, unguardNodeHttp } from './guard.js'
export { withTimingId } from '../timing/id.js'
export { Timing } from '../timing/record.js'
export { hookFailures } from '../timing/hooks.js'
