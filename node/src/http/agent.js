/** Agents for node:http and node:https: TCP_NODELAY also where Node does not set it, one write for streams, timing. */

import http from 'node:http'
import https from 'node:https'
import { mostHeld, resolveConfig, withoutOurs } from '../config.js'
import { Connection, detach } from '../timing/connection.js'
import { resolveHooks } from '../timing/hooks.js'
import { setNoDelay } from '../wire/nodelay.js'
import { joinTurn } from './coalesce.js'
import { timeRequest } from './timed-request.js'

/** @typedef {import('../config.js').Options & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {(error: Error | null, socket?: any) => void} OnSocket */

/** On a socket: the agent that has set it up. */
const kAgent = Symbol('onewrite agent')

/**
 * Overrides the documented method `createConnection`; `addRequest`, which Node calls with each request; and
 * `removeSocket`, which it calls when a socket leaves the agent.
 * @param {any} Base the agent of node:http or node:https
 */
const withOurs = (Base, secure) => /** @type {any} */ (class extends Base {
  #config
  #owner
  /** Listener for 'socket' of all requests; null: their writes are Node's. */
  #onSocket

  constructor (options) {
    // Node takes null.
    const given = options ?? {}
    const config = resolveConfig(given)
    const hooks = resolveHooks(given, config)
    super(withoutOurs(options))
    this.#config = config
    this.#owner = { hooks }
    const max = mostHeld(config)
    /** @this {http.ClientRequest} */
    const onSocket = function (socket) { joinTurn(this, socket, max) }
    this.#onSocket = max > 0 ? onSocket : null
  }

  /** @param {any} options of the connection @param {OnSocket} [callback] */
  createConnection (options, callback) {
    if (this.#config.disabled) return super.createConnection(options, callback)
    const host = String(options.host ?? options.socketPath ?? '')
    const connection = this.#owner.hooks === null ? null : new Connection(host, secure)
    // Node returns the socket; through a proxy it passes it to the callback.
    const withSetUp = (error, socket) => {
      if (socket) this.#setUp(socket, options, connection)
      callback?.(error, socket)
    }
    const socket = super.createConnection(options, callback && withSetUp)
    if (socket) this.#setUp(socket, options, connection)
    return socket
  }

  #setUp (socket, options, connection) {
    if (socket[kAgent] === this) return
    socket[kAgent] = this
    // For an absent option it is on; for false Node's own agent has switched it off.
    if (options.noDelay !== false) setNoDelay(socket, this.#config, true)
    if (connection === null) return
    if (socket.connecting) connection.follow(socket)
    else connection.cannotFollow()
    connection.attach(socket, true)
  }

  // The one place where Node passes a request to its agent. It is not documented; agent-base and others rely on it.
  // What Node throws here it throws in the caller's http.request(), so nothing may be deferred.
  addRequest (request, options, ...rest) {
    if (this.#config.disabled) return super.addRequest(request, options, ...rest)
    const timed = this.#owner.hooks !== null
    const call = timed ? timeRequest(request, options, this.#owner, this.#onSocket) : null
    if (!timed && this.#onSocket !== null) request.once('socket', this.#onSocket)
    try {
      super.addRequest(request, options, ...rest)
    } catch (error) {
      // The caller gets the error, and there will be no event.
      call?.fail(error)
      throw error
    }
  }

  /** Node calls it also for a socket that becomes idle; that one carries no request. */
  removeSocket (socket, options) {
    if (socket._httpMessage) {
      delete socket[kAgent]
      detach(socket)
    }
    return super.removeSocket(socket, options)
  }
})

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
   * @param {http.AgentOptions & Options} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) { super(options) }
}

/** The same for https. Node 20 and 22 themselves never set TCP_NODELAY on TLS sockets (nodejs/node issue 62003). */
export class HttpsAgent extends HttpsBase {
  /**
   * @param {https.AgentOptions & Options} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) { super(options) }
}
