/**
 * What may stand in the place of the global dispatcher. undici's own default is replaced by our Agent, a dispatcher
 * with proxies from the environment by ours with the same options. What the user has chosen stays.
 */

import { globalAgent } from 'node:http'
import * as undici from 'undici'
import { before, globalDispatchers, LEGACY } from './before.js'
import { callsControllersWhenSent, isSupported, privateSymbol } from '../base-version.js'
import { Agent } from './agent.js'
import { EnvHttpProxyAgent } from './proxy-agent.js'

// When undici 8 was loaded, it replaced the dispatcher of a Node that knows `legacy` alone. fetch goes on to use the
// proxies.
if (isUndicis(before.legacy, 'EnvHttpProxyAgent') && isWrapped(globalDispatchers().legacy)) {
  Object.assign(globalThis, { [LEGACY]: before.legacy })
}

/**
 * @typedef {object} Place
 * @property {typeof Agent | typeof EnvHttpProxyAgent} [Class] ours of the same kind; absent: the dispatcher stays
 * @property {Record<string, unknown>} [options] of undici, which the dispatcher has
 * @property {any} [proxies] the dispatcher, whose NO_PROXY is not visible: it decides which proxy a request takes
 * @property {string} [found] the class of the dispatcher that stays
 */

/** @returns {Place} */
export function placeForOurs () {
  const { legacy, current } = globalDispatchers()
  // undici 8 sets both, one of them wrapped for older versions.
  const chosen = (current !== undefined && isWrapped(legacy) ? [current] : [current, legacy])
    .filter((dispatcher) => dispatcher !== undefined)
  const strange = chosen.find((dispatcher) => !isPlainAgent(dispatcher) && !isUndicis(dispatcher, 'EnvHttpProxyAgent'))
  if (strange !== undefined) return { found: nameOf(strange) }
  const proxies = chosen.find((each) => isUndicis(each, 'EnvHttpProxyAgent'))
  if (proxies !== undefined) return ofProxies(proxies)
  return { Class: hasLostProxies() ? EnvHttpProxyAgent : Agent, options: {} }
}

/** undici 8 was loaded before this package, and replaced the dispatcher that NODE_USE_ENV_PROXY had set. */
function hasLostProxies () {
  return callsControllersWhenSent && !isSupported(process.versions.undici ?? '') &&
  /** @type {any} */ (globalAgent).options?.proxyEnv !== undefined
}

/** @returns {boolean} undici 8 has set another, and this leads to it */
function isWrapped (dispatcher) {
  const Wrapper = Reflect.get(undici, 'Dispatcher1Wrapper')
  return (Wrapper !== undefined && dispatcher instanceof Wrapper) || nameOf(dispatcher) === 'Dispatcher1Wrapper'
}

/** @returns {any} its class; undefined when it cannot be read */
function classOf (value) {
  try {
    return value?.constructor
  } catch {
    return undefined
  }
}

/** @returns {string} the name of its class */
function nameOf (value) { return String(classOf(value)?.name || 'unknown') }

/**
 * @param {any} dispatcher of any copy of undici, also the one in Node
 * @returns {boolean} an object of undici's class of this name itself, not composed, wrapped or of a subclass
 */
function isUndicis (dispatcher, name) {
  const Class = classOf(dispatcher)
  if (typeof Class !== 'function') return false
  // A bundle may have renamed the classes of our undici.
  const known = Class === Reflect.get(undici, name) ||
    (Class.name === name && Object.getPrototypeOf(Class).name === 'DispatcherBase')
  return known && Object.getPrototypeOf(dispatcher) === Class.prototype &&
    dispatcher.dispatch === Class.prototype.dispatch
}

/** @returns {boolean} an Agent as undici makes it without options */
function isPlainAgent (dispatcher) {
  if (!isUndicis(dispatcher, 'Agent')) return false
  const plain = new dispatcher.constructor()
  const options = privateSymbol(plain, 'options')
  return options !== undefined && hasDefaultFactory(dispatcher, plain) && isSame(dispatcher[options], plain[options])
}

function hasDefaultFactory (agent, plain) {
  const factory = privateSymbol(plain, 'factory')
  return factory !== undefined && agent[factory] === plain[factory]
}

function isSame (one, other) {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].every((name) => one[name] === other[name])
}

/** The private names of an EnvHttpProxyAgent under which it has its agents. */
const AGENTS = ['no proxy agent', 'http proxy agent', 'https proxy agent']

/** @param {any} dispatcher an EnvHttpProxyAgent @returns {Place} */
function ofProxies (dispatcher) {
  const [direct, http, https] = AGENTS.map((name) => dispatcher[privateSymbol(dispatcher, name) ?? name])
  const stays = { found: nameOf(dispatcher) }
  if (!isUndicis(direct, 'Agent') || !hasDefaultFactory(direct, new direct.constructor())) return stays
  const { maxOrigins, ...rest } = direct[privateSymbol(direct, 'options') ?? '']
  const options = { ...rest, ...(maxOrigins === Infinity ? null : { maxOrigins }) }
  for (const [name, agent] of [['httpProxy', http], ['httpsProxy', https]]) {
    const given = agent[privateSymbol(agent, 'proxy agent options') ?? '']
    if (agent !== direct && given === undefined) return stays
    // Not absent: the environment may have changed since.
    options[name] = agent === direct ? '' : given.uri
    // The default differs: undici 7 tunnels plain HTTP, undici 8 forwards it.
    if (agent !== direct) options.proxyTunnel = agent[privateSymbol(agent, 'tunnel proxy') ?? ''] === true
    // undici copies the options of an Agent as JSON, which loses certificates.
    for (const [key, description] of [['requestTls', 'request tls settings'], ['proxyTls', 'proxy tls settings']]) {
      const tls = agent[privateSymbol(agent, description ?? '') ?? '']
      if (tls !== undefined) options[String(key)] = tls
    }
  }
  return { Class: EnvHttpProxyAgent, options, proxies: dispatcher }
}

/**
 * Which of its agents an EnvHttpProxyAgent chooses. It is the one to know: its NO_PROXY may be an option, which is
 * private.
 * @param {any} ours an EnvHttpProxyAgent with the same options
 * @param {any} origin of a request
 * @returns {any} the agent of ours in the same place
 */
export function sameChoice (proxies, ours, origin) {
  let chosen = ours
  const agents = AGENTS.map((name) => {
    const symbol = /** @type {symbol} */ (privateSymbol(proxies, name))
    return { symbol, agent: proxies[symbol], same: ours[/** @type {symbol} */ (privateSymbol(ours, name))] }
  })
  const none = () => {}
  const handler = { onRequestStart: none, onResponseError: none, onConnect: none, onError: none }
  try {
    for (const { symbol, same } of agents) proxies[symbol] = { dispatch: () => { chosen = same } }
    proxies.dispatch({ origin, path: '/', method: 'GET' }, handler)
  } finally {
    for (const { symbol, agent } of agents) proxies[symbol] = agent
  }
  return chosen
}
