/** onewrite: HTTP requests that leave in one write, at once, with a record of where their time went. */

export { Agent } from './undici/agent.js'
export { clientFactory } from './undici/client.js'
export { Pool } from './undici/pool.js'
export { EnvHttpProxyAgent, ProxyAgent } from './undici/proxy-agent.js'
export { install, status, uninstall } from './install.js'
export { HttpAgent, HttpsAgent } from './http/agent.js'
export { guardNodeHttp, unguardNodeHttp } from './http/guard.js'
export { hookFailures } from './timing/hooks.js'

/** @typedef {import('./config.js').Options} Options */
/** @typedef {import('./errors.js').ErrorKind} ErrorKind */
/** @typedef {import('./http/agent.js').HttpAgentOptions} HttpAgentOptions */
/** @typedef {import('./http/agent.js').HttpsAgentOptions} HttpsAgentOptions */
/** @typedef {import('./install.js').Status} Status */
/** @typedef {import('./timing/record.js').EventName} EventName */
/** @typedef {import('./timing/record.js').Outcome} Outcome */
/** @typedef {import('./timing/record.js').Phase} Phase */
/** @typedef {import('./timing/record.js').TimingRecord} TimingRecord */
/** @typedef {import('./undici/agent.js').AgentOptions} AgentOptions */
/** @typedef {import('./undici/pool.js').PoolOptions} PoolOptions */
/** @typedef {import('./undici/proxy-agent.js').EnvHttpProxyAgentOptions} EnvHttpProxyAgentOptions */
/** @typedef {import('./undici/proxy-agent.js').ProxyAgentOptions} ProxyAgentOptions */
