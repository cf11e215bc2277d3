/** Makes the runtime's fetch, and every undici call without a dispatcher of its own, use our Agent. */

import * as undici from 'undici'
import { base, isBaseSupported } from './base-version.js'
import { kHooks, readOptions } from './config.js'
import { warnOnce } from './errors.js'
import { isGuarding } from './http/guard.js'
import { hide } from './patch.js'
import { hookFailures } from './timing/hooks.js'
import {
  findReplacement, globalDispatchers, kInstalled, reasonToKeep, restoreGlobalDispatchers
} from './undici/global.js'
import { VERSION } from './version.js'

/** @typedef {import('./undici/agent.js').AgentOptions} AgentOptions */

/**
 * Ours, and what it stands in for.
 * @type {{agent: any, isTimed: boolean, replacement: import('./undici/global.js').Replacement,
 *   before: {legacy: any, current: any}} | null}
 */
let installed = null
/** The reason for which the global dispatcher was kept. @type {string | null} */
let keptBecause = null
/** The options of all calls of `install()`. @type {AgentOptions} */
let options = {}
/** The hooks of all calls of `install()`, read at the end of each request by every Agent that was installed. */
const hooks = /** @type {import('./config.js').Hook[]} */ ([])

/**
 * Makes a dispatcher of ours the global dispatcher of undici, which the runtime's fetch uses too. An Agent replaces
 * undici's default Agent, and an EnvHttpProxyAgent the one of NODE_USE_ENV_PROXY. Any other dispatcher stays, with one
 * warning: the program chose it. `status()` shows which.
 *
 * A second call adds its hook to those that are there, and its other options replace those that it names. With
 * `disabled: true`, or `ONEWRITE_DISABLED=true`, it is an `uninstall()`.
 * @param {AgentOptions} [added]
 * @returns {() => boolean} takes the hook of this call away, and no other; false: it is not there
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function install (added = {}) {
  const { onTiming = null, ...others } = added
  const all = { ...options, ...others }
  const { disabled } = readOptions({ ...all, onTiming })
  const none = () => false
  if (disabled) {
    uninstall()
    return none
  }
  if (!isBaseSupported()) return none
  const current = isCurrent() ? installed : null
  const replacement = current?.replacement ?? findReplacement()
  if ('kept' in replacement) {
    keptBecause = reasonToKeep(replacement.kept)
    warnOnce('ONEWRITE_DISPATCHER_LEFT', `onewrite leaves the global dispatcher as it is: ${keptBecause}`)
    return none
  }
  // Each call has a hook of its own, so that the same function can be there twice.
  const hook = onTiming === null ? null : (/** @type {any} */ record) => onTiming(record)
  const isTimed = hook !== null || hooks.length > 0
  if (current === null || Object.keys(others).length > 0 || (isTimed && !current.isTimed)) {
    const { Class, options: ofFormer } = replacement
    // It throws for a bad option of undici's. Nothing is changed then.
    const agent = new Class({ ...ofFormer, ...all, ...(isTimed && { [kHooks]: hooks }) })
    hide(agent, kInstalled, true)
    installed = { agent, isTimed, replacement, before: current?.before ?? globalDispatchers() }
    undici.setGlobalDispatcher(agent)
  }
  options = all
  keptBecause = null
  if (hook === null) return none
  hooks.push(hook)
  return () => {
    const index = hooks.indexOf(hook)
    if (index >= 0) hooks.splice(index, 1)
    return index >= 0
  }
}

/**
 * Undoes all calls of `install()`: puts back the dispatcher that was there before the first. The Agent is not closed:
 * another dispatcher may stand on it, or the program may have kept it. Its idle connections end by their keep-alive
 * timeout.
 * @returns {boolean} false when nothing was installed, or when someone has set another dispatcher since: that one stays
 */
export function uninstall () {
  const isOurs = isCurrent()
  if (isOurs && installed !== null) restoreGlobalDispatchers(installed.before)
  options = {}
  hooks.length = 0
  installed = keptBecause = null
  return isOurs
}

function isCurrent () {
  return installed !== null && undici.getGlobalDispatcher() === installed.agent
}

/**
 * The patches, the options, and the reason where something is off.
 * @typedef {object} Status
 * @property {string} version of this package
 * @property {boolean} enabled false: everything is as without this package
 * @property {string} [offBecause] why not
 * @property {{name: 'undici', version: string | undefined, supported: boolean}} base the library that is wrapped;
 *   no version where it cannot be read, as in a bundle
 * @property {string} runtime
 * @property {Record<string, string>} patches each thing that is changed: `on`, or why it is not
 * @property {{disabled: boolean, observe: boolean}} options of `install()`; without it, of the environment
 * @property {number} hooks how many hooks were added by `install()`
 * @property {number} hookErrors how many hooks have failed
 */

/** @returns {Status} */
export function status () {
  const { disabled, observe } = readOptions(options)
  const { version, supported } = base
  const offBecause = disabled
    ? 'disabled is true'
    : supported ? undefined : 'this version of undici is not supported'
  const wire = offBecause ?? (observe ? 'observe is true' : 'on')
  return {
    version: VERSION,
    enabled: offBecause === undefined,
    offBecause,
    base: { name: 'undici', version: version || undefined, supported },
    runtime: `Node ${process.versions.node}`,
    patches: {
      'fetch and undici without a dispatcher': offBecause ?? stateOfFetch(),
      'http.client.request.created (guardNodeHttp)': isGuarding() ? 'on' : 'not called',
      'socket.setNoDelay of each connection': wire,
      'socket.write, socket.uncork of each connection': wire
    },
    options: { disabled, observe },
    hooks: hooks.length,
    hookErrors: hookFailures()
  }
}

function stateOfFetch () {
  if (keptBecause !== null) return `left as it is: ${keptBecause}`
  if (installed === null) return 'not installed'
  return isCurrent() ? 'on' : 'another dispatcher was set since'
}
