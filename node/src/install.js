/** Makes the runtime's own fetch, and every undici call without a dispatcher, use our Agent. */

import * as undici from 'undici'
import { Agent } from './agent.js'
import { kSettings } from './dispatch.js'
import { resolveSettings } from './factory.js'
import { inOnePiece } from './multipart.js'

const LEGACY = Symbol.for('undici.globalDispatcher.1')
const CURRENT = Symbol.for('undici.globalDispatcher.2')

/** @type {{agent: Agent, previous: undici.Dispatcher, raw: {legacy: unknown, current: unknown}} | null} */
let installed = null

/**
 * Installs an Agent as undici's global dispatcher, which the runtime's fetch uses too. A second call replaces the
 * Agent of the first; with `disabled: true`, or `ONEWRITE_DISABLED=true`, by the dispatcher that was there before.
 * @param {import('./agent.js').AgentOptions} [options]
 * @returns {Agent | null} the Agent that is installed; null when disabled
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function install (options = {}) {
  if (resolveSettings(options).config.disabled) {
    uninstall()
    return null
  }
  const agent = new FetchAgent(options)
  uninstall()
  const globals = /** @type {any} */ (globalThis)
  installed = { agent, previous: undici.getGlobalDispatcher(), raw: { legacy: globals[LEGACY], current: globals[CURRENT] } }
  undici.setGlobalDispatcher(agent)
  return agent
}

/**
 * Puts back the dispatcher that was there before `install()`. Running requests end as they would; the connections of
 * the installed Agent are closed when they are idle.
 * @returns {boolean} false when nothing was installed, or when someone has set another dispatcher since: that one stays
 */
export function uninstall () {
  if (installed === null) return false
  const { agent, previous, raw } = installed
  installed = null
  const ours = undici.getGlobalDispatcher() === agent
  if (ours) {
    undici.setGlobalDispatcher(previous)
    const globals = /** @type {any} */ (globalThis)
    // undici 8 keeps two, one of them wrapped: put back the very objects.
    if (raw.legacy !== undefined) globals[LEGACY] = raw.legacy
    if (raw.current !== undefined) globals[CURRENT] = raw.current
  }
  agent.close().catch(() => {})
  return ours
}

/** What only the runtime's fetch does. */
class FetchAgent extends Agent {
  /** @param {any} opts @param {any} handler */
  dispatch (opts, handler) {
    const headers = opts?.headers
    const name = headers && Object.keys(headers).find((name) => name.length === 14 && name.toLowerCase() === 'content-length')
    return super.dispatch(name === undefined ? opts : withKnownLength(opts, name, this[kSettings].config), handler)
  }
}

/**
 * fetch joins a Content-Length of the user's with its own to `5, 5`. The undici in the runtime reads that as 5, later
 * ones refuse it; equal lengths are one length (RFC 9110 section 8.6).
 * And fetch has forms read part by part, a file's part in turns of its own: a small one is brought into one piece.
 * A form is all that fetch gives both a length and a multipart type.
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
