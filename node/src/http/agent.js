/** Agents for node:http and node:https: TCP_NODELAY also where Node does not set it, one write for streams, timing. */

import http from 'node:http'
import https from 'node:https'
import { resolveConfig, withoutOurs } from '../config.js'
import { Connection } from '../timing/connection.js'
import { resolveHooks } from '../timing/hooks.js'
import { setNoDelay } from '../wire/nodelay.js'
import { joinTurn } from './coalesce.js'
import { timeRequest, watchClose } from './timed-request.js'
import { headersRefusal, headRefusal } from './validate.js'

/** @typedef {import('../config.js').Options & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {(error: Error | null, socket?: any) => void} OnSocket */

const kPrepared = Symbol('onewrite prepared')
/** `bytesRead` of a socket when it became idle. */
const kIdleBytes = Symbol('onewrite idle bytes')

/** @param {any} options of a connection @param {boolean} secure @returns {number | undefined} none for a Unix socket */
function portOf ({ socketPath, port }, secure) {
  return socketPath ? undefined : Number(port) || (secure ? 443 : 80)
}

/**
 * Overrides the documented methods `createConnection`, `keepSocketAlive` and `getName`, and `addRequest`, which Node calls
 * with each request.
 * @param {any} Base the agent of node:http or node:https
 * @param {boolean} secure
 * @returns {any}
 */
const withOurs = (Base, secure) => class extends Base {
  #config
  #hooks
  /** Listener for 'socket' of all requests. */
  #onSocket
  /** Node is about to choose a socket. */
  #choosing = false

  /** @param {any} options */
  constructor (options) {
    const config = resolveConfig(options)
    const hooks = resolveHooks(options, config)
    super(withoutOurs(options))
    this.#config = config
    this.#hooks = hooks
    const max = config.coalesceDisabled ? 0 : config.coalesceMax
    /** @this {http.ClientRequest} @param {any} socket */
    this.#onSocket = function (socket) {
      // Headers may have been set since the agent got the request. Nothing is written before this event is over.
      const late = headersRefusal(this)
      if (late !== null) this.destroy(late)
      else if (max > 0) joinTurn(this, socket, max)
    }
  }

  /** @param {any} options of the connection @param {OnSocket} [callback] */
  createConnection (options, callback) {
    if (this.#config.disabled) return super.createConnection(options, callback)
    const connection = this.#hooks === null ? null : new Connection(String(options.host ?? options.socketPath ?? ''), secure, portOf(options, secure), this.#hooks)
    // Node returns the socket; through a proxy it passes it to the callback.
    const socket = super.createConnection(options, callback && ((/** @type {Error | null} */ error, /** @type {any} */ socket) => {
      if (socket) this.#prepare(socket, options, connection)
      callback(error, socket)
    }))
    if (socket) this.#prepare(socket, options, connection)
    return socket
  }

  /**
   * @param {any} socket
   * @param {any} options
   * @param {Connection | null} connection
   */
  #prepare (socket, options, connection) {
    if (socket[kPrepared] === this) return
    socket[kPrepared] = this
    // For an absent option it is on; for false Node's own agent has switched it off.
    if (options.noDelay !== false) setNoDelay(socket, this.#config, true)
    if (connection === null) return
    if (socket.connecting) connection.follow(socket)
    else connection.cannotFollow()
    connection.attach(socket)
    watchClose(socket, connection)
  }

  // The one place where Node passes a request to its agent. It is not documented; agent-base and others rely on it.
  // What Node throws here it throws in the caller's http.request(), so nothing may be deferred.
  /** @param {http.ClientRequest} request @param {any} options @param {any[]} rest */
  addRequest (request, options, ...rest) {
    if (this.#config.disabled) return super.addRequest(request, options, ...rest)
    const call = this.#hooks === null ? null : timeRequest(request, options, this.#hooks)
    const refused = headRefusal(request)
    if (refused !== null) {
      request.destroy(refused)
      // As Node's agent reports a connection that could not be made.
      const own = /** @type {any} */ (request)
      own.onSocket(null, refused)
      return
    }
    request.on('socket', this.#onSocket)
    this.#choosing = true
    try {
      super.addRequest(request, options, ...rest)
    } catch (error) {
      // The caller gets the error, and there will be no event.
      call?.fail(error)
      throw error
    }
  }

  // The first call in Node's `addRequest` comes just before it takes an idle socket of that name.
  /** @param {any} options */
  getName (options) {
    const name = super.getName(options)
    if (this.#choosing) {
      this.#choosing = false
      this.#dropUnusable(name)
    }
    return name
  }

  /**
   * Bytes that arrive on an idle connection answer no request (RFC 9112 section 9.2), so it must not be used again. Node
   * 22.23.3, 24.21 and 26.10 close a connection on which they read such bytes; 20.20 and 24.14 drop the bytes and keep it.
   * @param {string} name
   */
  #dropUnusable (name) {
    for (let sockets = this.freeSockets[name]; sockets?.length > 0; sockets = this.freeSockets[name]) {
      const socket = this.scheduling === 'fifo' ? sockets[0] : sockets.at(-1)
      if (socket[kIdleBytes] === socket.bytesRead && !socket.destroyed) return
      socket.destroy()
      // The documented way to take a socket out of its agent at once.
      socket.emit('agentRemove')
      if (this.freeSockets[name]?.includes(socket)) return
    }
  }

  /** @param {any} socket */
  keepSocketAlive (socket) {
    socket[kIdleBytes] = socket.bytesRead
    return super.keepSocketAlive(socket)
  }
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
