/** onewrite: HTTP requests that leave in one write, at once, and say where their time went. */

// The first import: it reads what undici changes when it is loaded.
import './undici/before.js'

export { Agent, EnvHttpProxyAgent, Pool, ProxyAgent, RetryAgent } from './undici/agents.js'
export { clientFactory } from './undici/factory.js'
export { install, Installation, status, uninstall } from './install.js'
export { HttpAgent, HttpsAgent } from './http/agent.js'
export { guardNodeHttp, unguardNodeHttp } from './http/guard.js'
export { Timing } from './timing/record.js'
export { hookFailures, withTimingId } from './timing/hooks.js'

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
/** @typedef {import('./undici/agents.js').AgentOptions} AgentOptions */
/** @typedef {import('./undici/agents.js').PoolOptions} PoolOptions */
/** @typedef {import('./undici/agents.js').EnvHttpProxyAgentOptions} EnvHttpProxyAgentOptions */
/** @typedef {import('./undici/agents.js').ProxyAgentOptions} ProxyAgentOptions */
