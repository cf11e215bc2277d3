/**
 * What may stand in the place of the global dispatcher. undici's own default is replaced by our Agent, a dispatcher
 * with proxies from the environment by ours with the same proxies. What else the program has chosen stays.
 */

import http from 'node:http'
import * as undici from 'undici'
import { before, globalDispatchers, LEGACY } from './before.js'
import { callsControllersWhenSent, isSupported, privateSymbol } from '../base-version.js'
import { Agent, EnvHttpProxyAgent } from './agents.js'

// When undici 8 was loaded, it replaced the dispatcher of a Node that has `legacy` alone. fetch goes on to use the
// proxies.
if (isUndicis(before.legacy, 'EnvHttpProxyAgent') && isWrapped(globalDispatchers().legacy)) {
  Object.assign(globalThis, { [LEGACY]: before.legacy })
}

/**
 * @typedef {object} Place
 * @property {typeof Agent | typeof EnvHttpProxyAgent} [Class] ours of the same kind; absent: the dispatcher stays
 * @property {Record<string, unknown>} [options] of undici, which the dispatcher has
 * @property {string} [found] the class of the dispatcher that stays
 */

/** @returns {Place} */
export function placeForOurs () {
  const { legacy, current } = globalDispatchers()
  // undici 8 sets both, one of them wrapped for older versions.
  const chosen = (current !== undefined && isWrapped(legacy) ? [current] : [current, legacy])
    .filter((dispatcher) => dispatcher !== undefined)
  const env = /** @type {any} */ (http.globalAgent).options?.proxyEnv
  const isNodes = (/** @type {any} */ dispatcher) => env !== undefined && isUndicis(dispatcher, 'EnvHttpProxyAgent') &&
    !(dispatcher instanceof undici.EnvHttpProxyAgent)
  const strange = chosen.find((dispatcher) => !isPlainAgent(dispatcher) && !isNodes(dispatcher))
  if (strange !== undefined) return { found: nameOf(strange) }
  // undici 8 was loaded before this package, and replaced the dispatcher that NODE_USE_ENV_PROXY had set.
  const isLost = env !== undefined && callsControllersWhenSent && !isSupported(process.versions.undici ?? '')
  return chosen.some(isNodes) || isLost
    ? { Class: EnvHttpProxyAgent, options: proxyOptions(env) }
    : { Class: Agent, options: {} }
}

/** @param {NodeJS.ProcessEnv} env from which Node has its proxies */
function proxyOptions (env) {
  // undici reads NO_PROXY anew for each request, unless it is an option.
  const isOfProgram = 'setGlobalProxyFromEnv' in http && env !== process.env
  return {
    httpProxy: env.http_proxy ?? env.HTTP_PROXY ?? '',
    httpsProxy: env.https_proxy ?? env.HTTPS_PROXY ?? '',
    noProxy: isOfProgram ? env.no_proxy || env.NO_PROXY : undefined,
    // The default differs: undici 7 tunnels plain HTTP, undici 8 forwards it.
    proxyTunnel: Number.parseInt(process.versions.undici ?? '', 10) < 8
  }
}

/** @param {any} dispatcher @returns {boolean} undici 8 has set another, and this leads to it */
function isWrapped (dispatcher) {
  const Wrapper = Reflect.get(undici, 'Dispatcher1Wrapper')
  return (Wrapper !== undefined && dispatcher instanceof Wrapper) || nameOf(dispatcher) === 'Dispatcher1Wrapper'
}

/** @param {any} value @returns {any} its class; undefined when it cannot be read */
function classOf (value) {
  try {
    return value?.constructor
  } catch {
    return undefined
  }
}

/** @param {any} value @returns {string} the name of its class */
function nameOf (value) { return String(classOf(value)?.name || 'unknown') }

/**
 * @param {any} dispatcher of any copy of undici, also the one in Node
 * @param {string} name
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

/** @param {any} dispatcher @returns {boolean} an Agent as undici makes it without options */
function isPlainAgent (dispatcher) {
  if (!isUndicis(dispatcher, 'Agent')) return false
  const plain = new dispatcher.constructor()
  const [options, factory] = ['options', 'factory'].map((name) => privateSymbol(plain, name))
  if (options === undefined || factory === undefined || dispatcher[factory] !== plain[factory]) return false
  const names = Object.keys({ ...dispatcher[options], ...plain[options] })
  return names.every((name) => dispatcher[options][name] === plain[options][name])
}
