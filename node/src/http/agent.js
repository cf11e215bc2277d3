/** Agents for node:http and node:https: TCP_NODELAY also where Node does not set it, one write for streams, timing. */

import http from 'node:http'
import https from 'node:https'
import { mostHeld, resolveConfig, setsNoDelay } from '../config.js'
import { hide, setNoDelay } from '../patch.js'
import { connectionOf, detach } from '../timing/connection.js'
import { hooksOf, resolveHooks } from '../timing/hooks.js'
import { joinTurn } from './coalesce.js'
import { followed, TimedRequest } from './timed-request.js'

/** @typedef {import('../config.js').Options & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {http.AgentOptions & Options} HttpAgentOptions */
/** @typedef {https.AgentOptions & Options} HttpsAgentOptions */
/** @typedef {(error: Error | null, socket?: any) => void} OnSocket */
/**
 * `onSocket` is the listener for 'socket' of all requests; null: their writes are Node's.
 * @typedef {object} State
 * @property {import('../config.js').Config} config
 * @property {import('../timing/hooks.js').Hooks | null} hooks
 * @property {((socket: any) => void) | null} onSocket
 */

/** On an agent. Not a #field: agents are copied, inherited from and put into a Proxy. */
const kState = Symbol('onewrite state')

/** @param {Options} given @returns {State} */
function stateOf (given) {
  const config = resolveConfig(given)
  const max = mostHeld(config)
  return { config, hooks: resolveHooks(given, config), onSocket: max > 0 ? joinTurn(max) : null }
}

/** Of a copy without the state. @type {State | null} */
let ofCopies = null

/**
 * Overrides the documented method `createConnection`; `addRequest`, which Node calls with each request; and
 * `removeSocket`, which it calls when a socket leaves the agent.
 * @param {any} Base the agent of node:http or node:https
 * @param {boolean} secure
 */
const withOurs = (Base, secure) => /** @type {any} */ (class extends Base {
  /** @param {any} options */
  constructor (options) {
    // Node takes null.
    const state = stateOf(options ?? {})
    super(options)
    hide(this, kState, state)
  }

  /** @returns {State} */
  get [kState] () { return (ofCopies ??= stateOf({})) }

  /** @param {any} options of the connection @param {OnSocket} [callback] */
  createConnection (options, callback) {
    const state = this[kState]
    if (state.config.disabled) return super.createConnection(options, callback)
    // Node returns the socket; through a proxy it passes it to the callback.
    const withSetUp = callback && ((/** @type {Error | null} */ error, /** @type {any} */ socket) => {
      if (socket) setUp(socket, options, state, secure)
      callback(error, socket)
    })
    const socket = super.createConnection(options, withSetUp)
    if (socket) setUp(socket, options, state, secure)
    return socket
  }

  // The one place where Node passes a request to its agent. It is not documented; agent-base and others rely on it.
  // What Node throws here it throws in the caller's http.request(), so nothing may be deferred.
  /** @param {any} request @param {any} options @param {any[]} rest */
  addRequest (request, options, ...rest) {
    const state = this[kState]
    if (state.config.disabled) return super.addRequest(request, options, ...rest)
    const hooks = hooksOf(state)
    const call = hooks === null ? null : new TimedRequest(hooks, request, Object(options), state.onSocket)
    if (call === null && state.onSocket !== null) request.once('socket', state.onSocket)
    try {
      super.addRequest(request, options, ...rest)
    } catch (error) {
      // The caller gets the error, and there will be no event.
      call?.failed(error)
      throw error
    }
  }

  /**
   * Node calls it also for a socket that becomes idle; the call on that one has ended.
   * @param {any} socket @param {any} options
   */
  removeSocket (socket, options) {
    if (connectionOf(socket)?.call) detach(socket)
    return super.removeSocket(socket, options)
  }
})

/** @param {any} socket @param {any} options of its connection @param {State} state @param {boolean} secure */
function setUp (socket, options, state, secure) {
  // For an absent option it is on; for false Node's own agent has switched it off.
  if (options.noDelay !== false && setsNoDelay(state.config)) setNoDelay(socket)
  if (hooksOf(state) !== null && connectionOf(socket) === null) followed(socket, options, secure)
}

/** @type {typeof http.Agent} */
const HttpBase = withOurs(http.Agent, false)
/** @type {typeof https.Agent} */
const HttpsBase = withOurs(https.Agent, true)

/**
 * An `http.Agent` for axios, got, node-fetch, AWS SDKs and plain `http.request()`.
 * Options are those of http.Agent, with ours beside them; with `noDelay: false` Nagle's algorithm stays on.
 */
export class HttpAgent extends HttpBase {
  /**
   * @param {HttpAgentOptions} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) { super(options) }
}

/** The same for https. Node 20 and 22 themselves never set TCP_NODELAY on TLS sockets (nodejs/node issue 62003). */
export class HttpsAgent extends HttpsBase {
  /**
   * @param {HttpsAgentOptions} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) { super(options) }
}
