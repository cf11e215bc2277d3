/** Makes the runtime's fetch, and every undici call without a dispatcher of its own, use our Agent. */

import * as undici from 'undici'
import { Agent } from './undici/agent.js'
import { base } from './base-version.js'
import { resolveConfig } from './config.js'
import { kConfig } from './undici/dispatch.js'
import { configOf } from './undici/factory.js'
import { guardStatus } from './http/guard.js'
import { VERSION } from './version.js'
import { inOnePiece } from './wire/multipart.js'
import { hookFailures, mergeHooks } from './timing/hooks.js'

const LEGACY = Symbol.for('undici.globalDispatcher.1')
const CURRENT = Symbol.for('undici.globalDispatcher.2')
/** On an Agent that was uninstalled: the dispatcher before it. Another copy of this package may hold that Agent. */
const kReplaced = Symbol.for('onewrite.replaced')

/** @typedef {import('./timing/hooks.js').Hooks} Hooks */

/** @type {{agent: FetchAgent, previous: undici.Dispatcher, raw: {legacy: unknown, current: unknown}} | null} */
let installed = null
/** The options of all calls of `install()`. @type {import('./undici/agent.js').AgentOptions} */
let options = {}
/** The hooks of each call of `install()`. @type {Set<Hooks>} */
const hooksOfCalls = new Set()
/** All of them, read at the start of each request by every Agent that was installed. @type {Hooks | null} */
let hooksOfAll = null

/** One call of `install()`. */
export class Installation {
  #hooks

  /** @param {Hooks | null} hooks */
  constructor (hooks) { this.#hooks = hooks }

  /**
   * Takes away the hooks of this call of `install()`, and no others. Its options stay, until another call replaces them or
   * `uninstall()` ends them all.
   * @returns {boolean} false when it has no hooks, or they were taken away before
   */
  remove () {
    const found = this.#hooks !== null && hooksOfCalls.delete(this.#hooks)
    hooksOfAll = mergeHooks([...hooksOfCalls])
    return found
  }
}

/**
 * Installs an Agent as undici's global dispatcher, which the runtime's fetch uses too. Called again, it adds its hooks
 * to those that are there, and its options replace those that it names. With `disabled: true`, or
 * `ONEWRITE_DISABLED=true`, it is an `uninstall()`.
 * @param {import('./undici/agent.js').AgentOptions} [added]
 * @returns {Installation} whose `remove()` takes the hooks of this call away
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function install (added = {}) {
  const { onTiming, listener, ...given } = added
  const all = { ...options, ...given }
  const { disabled, hooks } = configOf({ ...all, ...added })
  if (disabled) {
    uninstall()
    return new Installation(null)
  }
  const timed = hooks !== null || hooksOfCalls.size > 0
  const current = isCurrent()
  const suits = current && Object.keys(given).length === 0 && (!timed || installed?.agent.timed)
  // It throws for a bad option of undici's; nothing is changed then.
  const agent = suits ? null : new FetchAgent(all, timed)
  options = all
  if (hooks !== null) hooksOfCalls.add(hooks)
  hooksOfAll = mergeHooks([...hooksOfCalls])
  if (agent !== null) place(agent, current)
  return new Installation(hooks)
}

/** @param {FetchAgent} agent @param {boolean} current the global dispatcher is the Agent of an earlier call */
function place (agent, current) {
  if (current) retire()
  const globals = /** @type {any} */ (globalThis)
  installed = current && installed !== null
    ? { ...installed, agent }
    : { agent, previous: undici.getGlobalDispatcher(), raw: { legacy: globals[LEGACY], current: globals[CURRENT] } }
  undici.setGlobalDispatcher(agent)
}

/**
 * Undoes all calls of `install()`: puts back the dispatcher that was there before the first. The Agent is not closed:
 * another dispatcher may stand on it, or the program may have kept it. Its idle connections end by their keep-alive
 * timeout.
 * @returns {boolean} false when nothing was installed, or when someone has set another dispatcher since: that one stays
 */
export function uninstall () {
  options = {}
  hooksOfCalls.clear()
  hooksOfAll = null
  if (installed === null) return false
  const { previous, raw } = installed
  const current = isCurrent()
  retire()
  installed = null
  if (!current) return false
  const usable = lastInUse(previous)
  undici.setGlobalDispatcher(usable)
  if (usable !== previous) return true
  const globals = /** @type {any} */ (globalThis)
  // undici 8 keeps two, one of them wrapped, and wraps again when set: put back the same objects.
  if (raw.legacy !== undefined) globals[LEGACY] = raw.legacy
  if (raw.current !== undefined) globals[CURRENT] = raw.current
  return true
}

function isCurrent () {
  return installed !== null && undici.getGlobalDispatcher() === installed.agent
}

/** Another copy of this package may hold the Agent as the dispatcher that was there before. */
function retire () {
  if (installed !== null) Object.defineProperty(installed.agent, kReplaced, { value: installed.previous })
}

/**
 * @param {any} previous the dispatcher that was there before ours
 * @returns {undici.Dispatcher} it, unless it was uninstalled or closed meanwhile
 */
function lastInUse (previous) {
  while (previous[kReplaced] !== undefined) previous = previous[kReplaced]
  return previous.closed || previous.destroyed ? new undici.Agent() : previous
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
 * @property {number} hookErrors how many hooks have thrown
 */

/** @returns {Status} */
export function status () {
  const config = resolveConfig(options)
  const { version, supported } = base
  const disabled = config.disabled ? 'ONEWRITE_DISABLED is set' : undefined
  const offBecause = disabled ?? (supported ? undefined : 'this version of undici is not supported')
  /** @param {'nodelayDisabled' | 'coalesceDisabled' | 'hooksDisabled'} option */
  const unless = (option, otherwise = 'on') => offBecause ?? (config[option] ? `${option} is true` : otherwise)
  const fetch = installed === null ? 'not installed' : isCurrent() ? 'on' : 'another dispatcher was set since'
  return {
    version: VERSION,
    enabled: offBecause === undefined,
    offBecause,
    base: { name: 'undici', version: version || undefined, supported },
    runtime: `Node ${process.versions.node}`,
    patches: {
      'fetch and undici without a dispatcher': offBecause ?? fetch,
      'http.client.request.created (guardNodeHttp)': guardStatus(),
      'socket.setNoDelay of each connection': unless('nodelayDisabled'),
      'socket.write, socket.uncork of each connection': unless('coalesceDisabled'),
      'socket._write, socket._writev; response.push of node:http (timing)': unless('hooksDisabled', 'waits for a hook')
    },
    options: config,
    hooks: hooksOfAll === null ? 0 : hooksOfAll.timings.length + hooksOfAll.listeners.length,
    hookErrors: hookFailures()
  }
}

/** Our Agent, with what only requests of fetch need. */
class FetchAgent extends Agent {
  /** @param {import('./undici/agent.js').AgentOptions} options @param {boolean} timed its clients take times */
  constructor (options, timed) {
    const { hooks, ...config } = configOf(options)
    super(/** @type {any} */ ({ ...options, [kConfig]: { ...config, timed, get hooks () { return hooksOfAll } } }))
    this.timed = timed
  }

  /** @param {any} opts @param {any} handler */
  dispatch (opts, handler) {
    const headers = opts?.headers
    const name = headers && Object.keys(headers).find((name) => name.length === 14 && name.toLowerCase() === 'content-length')
    return super.dispatch(name === undefined ? opts : withKnownLength(opts, name, this[kConfig]), handler)
  }
}

/**
 * Mends two things in the options of a dispatch that comes from fetch.
 * fetch joins the user's Content-Length with its own to `5, 5`. The undici in the runtime reads that as 5, later ones
 * refuse it; equal lengths are one length (RFC 9110 section 8.6).
 * fetch gives a form as an iterator over its parts, in which a file takes turns of the event loop: a small form is
 * brought into one piece. Only a form has both a length and a multipart type.
 * @param {any} opts
 * @param {string} name of the header
 * @param {import('./config.js').Config} config
 */
function withKnownLength (opts, name, config) {
  const { headers, body } = opts
  const twice = /^(\d+), \1$/.exec(headers[name])
  const length = twice?.[1] ?? headers[name]
  const form = !config.coalesceDisabled && !config.disabled && Number(length) <= config.coalesceMax &&
    typeof body?.[Symbol.asyncIterator] === 'function' && String(headers['content-type']).startsWith('multipart/form-data; boundary=')
  if (twice === null && !form) return opts
  return { ...opts, headers: { ...headers, [name]: length }, body: form ? inOnePiece(body) : body }
}
