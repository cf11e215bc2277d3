/** Makes the runtime's fetch, and every undici call without a dispatcher of its own, use our Agent. */

import * as undici from 'undici'
import { Agent } from './undici/agent.js'
import { baseStatus } from './base-version.js'
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
/** What each call of `install()` asked for. @type {{options: import('./undici/agent.js').AgentOptions, hooks: Hooks | null}[]} */
let asked = []
/** The hooks of all installations, read at the start of each call by every Agent that was installed. @type {Hooks | null} */
let hooksOfAll = null

/** One call of `install()`. */
export class Installation {
  #remove

  /** @param {() => boolean} remove */
  constructor (remove) { this.#remove = remove }

  /**
   * Takes away the hooks and options of this call of `install()`, and no others. With the last one fetch is as before.
   * @returns {boolean} false when they were taken away before
   */
  remove () { return this.#remove() }
}

/**
 * Installs an Agent as undici's global dispatcher, which the runtime's fetch uses too. Called again, it adds its hooks
 * to those that are there, and its options replace those that it names. With `disabled: true`, or
 * `ONEWRITE_DISABLED=true`, fetch is as before.
 * @param {import('./undici/agent.js').AgentOptions} [options]
 * @returns {Installation} whose `remove()` undoes this call
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function install (options = {}) {
  const { onTiming, listener, ...rest } = options
  const one = { options: rest, hooks: configOf(options).hooks }
  const hasOptions = Object.keys(rest).length > 0
  place([...asked, one], hasOptions, true)
  return new Installation(() => {
    if (!asked.includes(one)) return false
    place(asked.filter((each) => each !== one), hasOptions, installed === null)
    return true
  })
}

/**
 * Undoes all calls of `install()`: puts back the dispatcher that was there before the first. The Agent is not closed:
 * another dispatcher may stand on it, or the program may have kept it. Its idle connections end by their keep-alive
 * timeout.
 * @returns {boolean} false when nothing was installed, or when someone has set another dispatcher since: that one stays
 */
export function uninstall () {
  const current = isCurrent()
  place([], true, false)
  return current
}

function isCurrent () {
  return installed !== null && undici.getGlobalDispatcher() === installed.agent
}

/**
 * Makes the global dispatcher what the installations ask for.
 * @param {typeof asked} wanted
 * @param {boolean} changed the options may be others than before
 * @param {boolean} takeOver also when someone has set another dispatcher since
 */
function place (wanted, changed, takeOver) {
  /** @type {import('./undici/agent.js').AgentOptions} */
  const options = Object.assign({}, ...wanted.map(({ options }) => options))
  const hooks = mergeHooks(wanted.flatMap(({ hooks }) => hooks ?? []))
  const off = wanted.length === 0 || configOf(options).disabled
  const current = isCurrent()
  const suits = current && !changed && (hooks === null || installed?.agent.timed)
  // It throws for a bad option of undici's; nothing is changed then.
  const agent = off || suits || !(current || takeOver) ? null : new FetchAgent(options, hooks !== null)
  asked = wanted
  hooksOfAll = off ? null : hooks
  if (off) return takeOut()
  if (agent === null) return
  if (current) retire()
  const globals = /** @type {any} */ (globalThis)
  installed = current && installed !== null
    ? { ...installed, agent }
    : { agent, previous: undici.getGlobalDispatcher(), raw: { legacy: globals[LEGACY], current: globals[CURRENT] } }
  undici.setGlobalDispatcher(agent)
}

/** Another copy of this package may hold the Agent as the dispatcher that was there before. */
function retire () {
  if (installed !== null) Object.defineProperty(installed.agent, kReplaced, { value: installed.previous })
}

function takeOut () {
  if (installed === null) return
  const { previous, raw } = installed
  const current = isCurrent()
  retire()
  installed = null
  if (!current) return
  const usable = lastInUse(previous)
  undici.setGlobalDispatcher(usable)
  if (usable !== previous) return
  const globals = /** @type {any} */ (globalThis)
  // undici 8 keeps two, one of them wrapped, and wraps again when set: put back the same objects.
  if (raw.legacy !== undefined) globals[LEGACY] = raw.legacy
  if (raw.current !== undefined) globals[CURRENT] = raw.current
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
 * @property {import('./config.js').Config} options from the environment; options given in code take precedence over them
 * @property {number} hooks how many hooks `install()` was given
 * @property {number} hookErrors how many hooks have thrown
 */

/** @returns {Status} */
export function status () {
  const options = resolveConfig()
  const { version, supported } = baseStatus()
  const disabled = options.disabled ? 'ONEWRITE_DISABLED is set' : undefined
  const offBecause = disabled ?? (supported ? undefined : 'this version of undici is not supported')
  const unless = (/** @type {boolean} */ off, /** @type {string} */ name, otherwise = 'on') => offBecause ?? (off ? `${name} is set` : otherwise)
  const current = installed === null ? 'not installed' : undici.getGlobalDispatcher() === installed.agent ? 'on' : 'another dispatcher was set since'
  return {
    version: VERSION,
    enabled: offBecause === undefined,
    offBecause,
    base: { name: 'undici', version: version || undefined, supported },
    runtime: `Node ${process.versions.node}`,
    patches: {
      'fetch and undici without a dispatcher': offBecause ?? current,
      'http.client.request.created (guardNodeHttp)': guardStatus(),
      'socket.setNoDelay of each connection': unless(options.nodelayDisabled, 'ONEWRITE_NODELAY_DISABLED'),
      'socket.write, socket.uncork of each connection': unless(options.coalesceDisabled, 'ONEWRITE_COALESCE_DISABLED'),
      'socket._write, socket._writev; response.push of node:http (timing)': unless(options.hooksDisabled, 'ONEWRITE_HOOKS_DISABLED', 'waits for a hook')
    },
    options,
    hooks: asked.reduce((sum, { hooks }) => sum + (hooks === null ? 0 : hooks.timings.length + hooks.listeners.length), 0),
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
