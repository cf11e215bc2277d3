/** The part for node:http alone. It does not load undici. */

export { HttpAgent, HttpsAgent } from './http/agent.js'
export { guardNodeHttp, unguardNodeHttp } from './http/guard.js'
export { InvalidRequestError } from './errors.js'
export { withTimingId } from './timing/id.js'
export { Timing } from './timing/record.js'
export { hookFailures } from './timing/hooks.js'
