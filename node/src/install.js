/** Makes the runtime's fetch, and every undici call without a dispatcher of its own, use our Agent. */

import { CURRENT, globalDispatchers, LEGACY } from './undici/before.js'
import * as undici from 'undici'
import { base } from './base-version.js'
import { copyOf, resolveConfig } from './config.js'
import { guardStatus } from './http/guard.js'
import { hookFailures, mergeHooks, switchHooksOff } from './timing/hooks.js'
import { Agent } from './undici/agents.js'
import { kConfig } from './undici/dispatch.js'
import { configOf } from './undici/factory.js'
import { placeForOurs } from './undici/global.js'
import { VERSION } from './version.js'

/** @typedef {import('./timing/hooks.js').Hooks} Hooks */
/** @typedef {import('./undici/agents.js').AgentOptions} AgentOptions */
/** @typedef {import('./undici/global.js').Place} Place */

/**
 * What stands in for the dispatcher that was there before, and is put back.
 * @type {{agent: any, place: Place, previous: {legacy: any, current: any}} | null}
 */
let installed = null
/** The class of the global dispatcher that `install()` left in its place. @type {string | null} */
let left = null
/** The options of all calls of `install()`. @type {AgentOptions} */
let options = {}
/** The hooks of each call of `install()`. @type {Set<Hooks>} */
const hooksOfCalls = new Set()
/** All of them, read at the start of each request by every Agent that was installed. @type {Hooks | null} */
let hooksOfAll = null

/** One call of `install()`. */
export class Installation {
  #hooks

  /** @internal @param {Hooks | null} hooks */
  constructor (hooks) { this.#hooks = hooks }

  /**
   * Takes away the hooks of this call of `install()`, and no others. Its options stay, until another call replaces them
   * or `uninstall()` ends them all.
   * @returns {boolean} false when it has no hooks, or they were taken away before
   */
  remove () {
    const removed = this.#hooks !== null && hooksOfCalls.delete(this.#hooks)
    hooksOfAll = mergeHooks([...hooksOfCalls])
    return removed
  }
}

/**
 * Makes a dispatcher of ours the global dispatcher of undici, which the runtime's fetch uses too: an Agent in the place
 * of undici's default Agent, an EnvHttpProxyAgent in the place of the one of NODE_USE_ENV_PROXY. Any other dispatcher
 * stays, with one warning: it was chosen. `status()` says which.
 *
 * Called again, it adds its hooks to those that are there, and its options replace those that it names. With
 * `disabled: true`, or `ONEWRITE_DISABLED=true`, it is an `uninstall()`.
 * @param {AgentOptions} [added]
 * @returns {Installation} whose `remove()` takes the hooks of this call away
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function install (added = {}) {
  const { onTiming, listener, ...given } = copyOf(added)
  const all = { ...options, ...given }
  const { disabled, hooks } = configOf({ ...all, onTiming, listener })
  if (disabled) {
    uninstall()
    return new Installation(null)
  }
  const timed = hooks !== null || hooksOfCalls.size > 0
  const current = isCurrent()
  const place = current && installed !== null ? installed.place : placeForOurs()
  const suits = current && Object.keys(given).length === 0 && (!timed || installed?.agent[kConfig].timed)
  // It throws for a bad option of undici's; nothing is changed then.
  const agent = suits || place.Class === undefined ? null : agentFor(place, all, timed)
  options = all
  // It also ends the hooks that were set before, of this and of each dispatcher.
  const { hooksDisabled } = resolveConfig(all)
  switchHooksOff(hooksDisabled)
  if (hooksDisabled) hooksOfCalls.clear()
  if (hooks !== null) hooksOfCalls.add(hooks)
  hooksOfAll = mergeHooks([...hooksOfCalls])
  if (place.Class === undefined) leave(String(place.found))
  if (agent !== null) {
    const previous = current && installed !== null ? installed.previous : globalDispatchers()
    installed = { agent, place, previous }
    left = null
    undici.setGlobalDispatcher(agent)
  }
  return new Installation(hooks)
}

/** @param {string} name of the class of the global dispatcher */
function leave (name) {
  if (left === name) return
  left = name
  const message = `onewrite leaves the global dispatcher as it is: ${howToUseOurs(name)}`
  process.emitWarning(message, { code: 'ONEWRITE_DISPATCHER_LEFT' })
}

/** @param {string} name of a class of undici */
function howToUseOurs (name) {
  const ours = ['ProxyAgent', 'EnvHttpProxyAgent', 'RetryAgent'].includes(name) ? name : 'Agent'
  const how = name === 'MockAgent' ? 'new MockAgent({ agent: new Agent() })' : `new ${ours}(…) with the same options`
  return `the program chose it (class ${name}); use ${how}, with the class ${ours} of onewrite`
}

/**
 * Undoes all calls of `install()`: puts back the dispatcher that was there before the first. The Agent is not closed:
 * another dispatcher may stand on it, or the program may have kept it. Its idle connections end by their keep-alive
 * timeout.
 * @returns {boolean} false when nothing was installed, or when someone has set another dispatcher since: that one stays
 */
export function uninstall () {
  options = {}
  switchHooksOff(false)
  hooksOfCalls.clear()
  hooksOfAll = left = null
  if (installed === null) return false
  const { legacy, current } = installed.previous
  const undo = isCurrent()
  installed = null
  if (!undo) return false
  undici.setGlobalDispatcher(current ?? legacy)
  // undici 8 keeps two, one of them wrapped, and wraps again when set: put back the same objects. Where Node's undici 6
  // was loaded first there was only one. The other cannot be deleted; undefined is to undici as absent.
  if (legacy !== undefined) Object.assign(globalThis, { [LEGACY]: legacy })
  if (CURRENT in globalThis) Object.assign(globalThis, { [CURRENT]: current })
  return true
}

function isCurrent () {
  return installed !== null && undici.getGlobalDispatcher() === installed.agent
}

/**
 * What is patched or wrapped, with which options, and what is off for which reason.
 * @typedef {object} Status
 * @property {string} version of this package
 * @property {boolean} enabled false: everything is as without this package
 * @property {string} [offBecause] why not
 * @property {{name: 'undici', version: string | undefined, supported: boolean}} base the library that is wrapped;
 *   no version where it cannot be read, as in a bundle
 * @property {string} runtime
 * @property {Record<string, string>} patches each thing that is changed: `on`, or why it is not
 * @property {import('./config.js').Config} options of `install()`; without it, of the environment
 * @property {number} hooks how many hooks `install()` was given
 * @property {number} hookErrors how many hooks have failed
 */

/** @returns {Status} */
export function status () {
  const config = resolveConfig(options)
  const { version, supported } = base
  const disabled = config.disabled ? 'ONEWRITE_DISABLED is set' : undefined
  const offBecause = disabled ?? (supported ? undefined : 'this version of undici is not supported')
  /** @param {keyof typeof config} option */
  const unless = (option, otherwise = 'on') => offBecause ?? (config[option] ? `${option} is true` : otherwise)
  const wire = config.observe ? 'observe is true' : 'on'
  return {
    version: VERSION,
    enabled: offBecause === undefined,
    offBecause,
    base: { name: 'undici', version: version || undefined, supported },
    runtime: `Node ${process.versions.node}`,
    patches: {
      'fetch and undici without a dispatcher': offBecause ?? stateOfFetch(),
      'http.client.request.created (guardNodeHttp)': guardStatus(),
      'socket.setNoDelay of each connection': unless('nodelayDisabled', wire),
      'socket.write, socket.uncork of each connection': unless('coalesceDisabled', wire),
      '_write, _writev of sockets; push in node:http (timing)': unless('hooksDisabled', 'waits for a hook')
    },
    options: config,
    hooks: hooksOfAll === null ? 0 : hooksOfAll.timings.length + hooksOfAll.listeners.length,
    hookErrors: hookFailures()
  }
}

function stateOfFetch () {
  if (left !== null) return `left as it is: ${howToUseOurs(left)}`
  if (installed === null) return 'not installed'
  return isCurrent() ? 'on' : 'another dispatcher was set since'
}

/** @param {Place} place @param {AgentOptions} given @param {boolean} timed its clients take times */
function agentFor ({ Class = Agent, options }, given, timed) {
  const { hooks, ...config } = configOf(given, true, given.connect)
  // Hooks are asked for at each call.
  const own = { ...config, timed, get hooks () { return hooksOfAll } }
  return new Class(/** @type {any} */ ({ ...options, ...given, [kConfig]: own }))
}
