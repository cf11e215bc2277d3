/** onewrite: HTTP requests that leave in one write, at once, and say where their time went. */

// The first import: it reads what undici changes when it is loaded.
import './undici/before.js'

export { Agent } from './undici/agent.js'
export { Pool } from './undici/pool.js'
export { EnvHttpProxyAgent, ProxyAgent } from './undici/proxy-agent.js'
export { RetryAgent } from './undici/retry-agent.js'
export { clientFactory } from './undici/factory.js'
export { install, Installation, status, uninstall } from './install.js'
export { HttpAgent, HttpsAgent } from './http/agent.js'
export { guardNodeHttp, unguardNodeHttp } from './http/guard.js'
export { withTimingId } from './timing/id.js'
export { Timing } from './timing/record.js'
export { hookFailures } from './timing/hooks.js'

/** @typedef {import('./config.js').Options} Options */
/** @typedef {import('./errors.js').ErrorKind} ErrorKind */
/** @typedef {import('./http/agent.js').HttpAgentOptions} HttpAgentOptions */
/** @typedef {import('./http/agent.js').HttpsAgentOptions} HttpsAgentOptions */
/** @typedef {import('./install.js').Status} Status */
/** @typedef {import('./timing/events.js').TimingEvent} TimingEvent */
/** @typedef {import('./timing/events.js').TimingListener} TimingListener */
/** @typedef {import('./timing/hooks.js').HookOptions} HookOptions */
/** @typedef {import('./timing/record.js').Attempt} Attempt */
/** @typedef {import('./timing/record.js').Outcome} Outcome */
/** @typedef {import('./timing/record.js').Phase} Phase */
/** @typedef {import('./undici/agent.js').AgentOptions} AgentOptions */
/** @typedef {import('./undici/pool.js').PoolOptions} PoolOptions */
/** @typedef {import('./undici/proxy-agent.js').EnvHttpProxyAgentOptions} EnvHttpProxyAgentOptions */
/** @typedef {import('./undici/proxy-agent.js').ProxyAgentOptions} ProxyAgentOptions */
