/** onewrite: HTTP requests that leave in one write, at once, and say where their time went. */

// The first import: it reads what undici changes when it is loaded.
import './undici/before.js'

export { Agent } from './undici/agent.js'
export { Pool } from './undici/pool.js'
export { EnvHttpProxyAgent, ProxyAgent } from './undici/proxy-agent.js'
export { RetryAgent } from './undici/retry-agent.js'
export { agentFactory, clientFactory } from './undici/own-dispatcher.js'
export { install, Installation, status, uninstall } from './install.js'
export { HttpAgent, HttpsAgent } from './http/agent.js'
export { guardNodeHttp, unguardNodeHttp } from './http/guard.js'
export { withTimingId } from './timing/id.js'
export { Timing } from './timing/record.js'
export { hookFailures } from './timing/hooks.js'
