/**
 * The global dispatcher, which fetch and every undici call without a dispatcher use. undici's own default is replaced.
 * Any other dispatcher of the program stays.
 */

import http from 'node:http'
import * as undici from 'undici'
import { hasControllers, privateSymbol } from '../base-version.js'
import { Agent } from './agent.js'
import { EnvHttpProxyAgent } from './proxy-agent.js'

/** Read by undici up to 7. @internal */
export const LEGACY = Symbol.for('undici.globalDispatcher.1')
/** Read by undici 8. @internal */
export const CURRENT = Symbol.for('undici.globalDispatcher.2')
/** On the Agent of `install()`, of any copy of this package. @internal */
export const kInstalled = Symbol.for('onewrite.installed')

/** @internal @returns {{legacy: any, current: any}} */
export function globalDispatchers () {
  const globals = /** @type {any} */ (globalThis)
  return { legacy: globals[LEGACY], current: globals[CURRENT] }
}

/**
 * Puts former dispatchers back as they were. undici 8 has set both, one of them wrapped, and would wrap again. Where
 * only one was there, the other cannot be deleted; undefined is to undici as absent.
 * @internal
 * @param {{legacy: any, current: any}} before
 */
export function restoreGlobalDispatchers ({ legacy, current }) {
  undici.setGlobalDispatcher(current ?? legacy)
  if (legacy !== undefined) Object.assign(globalThis, { [LEGACY]: legacy })
  if (CURRENT in globalThis) Object.assign(globalThis, { [CURRENT]: current })
}

/**
 * @typedef {object} Replacement
 * @property {typeof Agent | typeof EnvHttpProxyAgent} Class ours that replaces the global dispatcher
 * @property {object} options of undici's, which the dispatcher has
 */

/** @internal @returns {Replacement | {kept: any}} `kept`: the dispatcher that stays */
export function findReplacement () {
  const { legacy, current } = globalDispatchers()
  const { proxyEnv } = /** @type {any} */ (http.globalAgent).options
  // NODE_USE_ENV_PROXY. Proxies that the program sets for Node itself stay.
  const isFromEnv = proxyEnv !== undefined && proxyEnv === process.env
  const isNodesProxy = (/** @type {any} */ dispatcher) => isFromEnv && isUndicis(dispatcher, 'EnvHttpProxyAgent') &&
    !(undici.EnvHttpProxyAgent && dispatcher instanceof undici.EnvHttpProxyAgent)
  // undici 8 sets both, one of them wrapped for older versions.
  const chosen = [current, legacy].filter((dispatcher) => dispatcher !== undefined && !isWrapper(dispatcher))
  const kept = chosen.find((dispatcher) => !isDefault(dispatcher) && !isNodesProxy(dispatcher))
  if (kept !== undefined) return { kept }
  const bundled = Number.parseInt(process.versions.undici ?? '', 10)
  // When undici 8 is loaded, it replaces the dispatcher that Node set from the environment.
  const isLost = isFromEnv && hasControllers && bundled < 8
  return isLost || chosen.some(isNodesProxy)
    // undici 7 tunnels plain HTTP, undici 8 forwards it.
    ? { Class: EnvHttpProxyAgent, options: { proxyTunnel: bundled < 8 } }
    : { Class: Agent, options: {} }
}

/** @param {any} value @returns {any} its class; undefined when it cannot be read */
function classOf (value) {
  try {
    return value?.constructor
  } catch {
    return undefined
  }
}

/** @param {any} dispatcher @returns {boolean} undici 8 has set another, and this leads to it */
function isWrapper (dispatcher) {
  return classOf(dispatcher)?.name === 'Dispatcher1Wrapper' ||
    (hasControllers && dispatcher instanceof /** @type {any} */ (Reflect.get(undici, 'Dispatcher1Wrapper')))
}

/**
 * @param {any} dispatcher of any copy of undici, also the one in Node
 * @param {string} name
 * @returns {boolean} an object of undici's class of this name itself, not composed, wrapped or of a subclass
 */
function isUndicis (dispatcher, name) {
  const Class = classOf(dispatcher)
  if (typeof Class !== 'function') return false
  // A bundle may have renamed the classes of our undici.
  const isKnown = Class === Reflect.get(undici, name) ||
    (Class.name === name && Object.getPrototypeOf(Class).name === 'DispatcherBase')
  return isKnown && Object.getPrototypeOf(dispatcher) === Class.prototype &&
    dispatcher.dispatch === Class.prototype.dispatch
}

/** @param {any} dispatcher @returns {boolean} an Agent as undici makes it without options */
function isDefault (dispatcher) {
  if (!isUndicis(dispatcher, 'Agent')) return false
  const plain = new dispatcher.constructor()
  const [options, factory] = ['options', 'factory'].map((name) => privateSymbol(plain, name))
  if (options === undefined || factory === undefined || dispatcher[factory] !== plain[factory]) return false
  const names = Object.keys({ ...dispatcher[options], ...plain[options] })
  return names.every((name) => dispatcher[options][name] === plain[options][name])
}

/** @internal @param {any} dispatcher that stays @returns {string} the reason, and the class to use */
export function reasonToKeep (dispatcher) {
  const name = String(classOf(dispatcher)?.name || 'unknown')
  if (dispatcher?.[kInstalled] === true) return 'another copy of onewrite is installed in this process'
  const ours = ['ProxyAgent', 'EnvHttpProxyAgent'].includes(name) ? name : 'Agent'
  return `the program chose it (class ${name}); use the class ${ours} of onewrite with the same options`
}
