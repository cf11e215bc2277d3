/** Agents for node:http and node:https: TCP_NODELAY also where Node loses it, one write for streams, timing. */

import http from 'node:http'
import https from 'node:https'
import { resolveConfig, withoutOurs } from '../config.js'
import { Connection, unsent } from '../timing/connection.js'
import { resolveHooks } from '../timing/hooks.js'
import { holdUnfinished } from '../wire/coalesce.js'
import { setNoDelay } from '../wire/nodelay.js'
import { validateRequest } from './client-request.js'
import { nodeHttpFraming } from './framing.js'
import { guardIdle, whenRead } from './idle.js'
import { refusedByNode, timeRequest } from './timed-request.js'

/** @typedef {import('../config.js').Switches & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {(error: Error | null, socket?: any) => void} OnSocket */

const kPrepared = Symbol('onewrite prepared')

/** @param {any} options of a connection @param {boolean} secure @returns {number | undefined} none of a Unix socket */
function portOf ({ socketPath, port }, secure) {
  return socketPath ? undefined : Number(port) || (secure ? 443 : 80)
}

/** What an agent of ours does beside Node's. */
class Helper {
  /**
   * @param {Options} options
   * @param {boolean} secure
   */
  constructor (options, secure) {
    this.config = resolveConfig(options)
    this.hooks = resolveHooks(options, this.config)
    this.secure = secure
  }

  /**
   * @param {any} options of the connection
   * @param {OnSocket | undefined} callback
   * @param {(callback: OnSocket | undefined) => any} connect
   */
  createConnection (options, callback, connect) {
    if (this.config.disabled) return connect(callback)
    const connection = this.hooks === null ? null : new Connection(String(options.host ?? options.socketPath ?? ''), this.secure, portOf(options, this.secure), this.hooks)
    // Node hands the socket over by return, and through a proxy by callback.
    const socket = connect(callback && ((error, socket) => {
      if (socket) this.prepare(socket, options, connection)
      callback(error, socket)
    }))
    if (socket) this.prepare(socket, options, connection)
    return socket
  }

  /**
   * @param {any} socket
   * @param {any} options
   * @param {Connection | null} connection
   */
  prepare (socket, options, connection) {
    if (socket[kPrepared] === this) return
    socket[kPrepared] = this
    socket[kServerName] = options.servername
    const { coalesceDisabled, coalesceMax } = this.config
    // Left out, it is on; false was set by Node's own agent already.
    if (options.noDelay !== false) setNoDelay(socket, this.config, true)
    holdUnfinished(socket, coalesceDisabled ? 0 : coalesceMax, nodeHttpFraming)
    if (connection === null) return
    if (socket.connecting) connection.follow(socket)
    else connection.cannotFollow()
    connection.attach(socket)
    connection.watchReads(socket)
  }

  /**
   * @param {any} request
   * @param {any} options
   * @returns {boolean} false when the request is refused
   */
  takes (request, options) {
    if (this.config.disabled) return true
    if (this.hooks !== null) timeRequest(request, options, this.hooks)
    const refused = validateRequest(request)
    if (refused === null) return true
    request.destroy(refused)
    // As Node's agent tells of a connection that could not be made.
    request.onSocket(null, refused)
    return false
  }

  /** @param {any} socket that has become idle */
  keep (socket) {
    if (!this.config.disabled) guardIdle(socket)
  }
}

/** A request's way through our agent, while it has no socket yet. */
class Way {
  /** It waits for a socket that is about to be idle. */
  queued = false

  /** @param {any} options of the request @param {any[]} rest */
  constructor (options, rest) {
    this.options = options
    this.rest = rest
  }
}

const kWay = Symbol('onewrite way')
const kServerName = Symbol('onewrite servername')

/**
 * Whether a socket will be idle within this turn of the event loop: the answer was read to its end, the request has
 * gone out whole, and only the word that it has is missing. TLS gives that word a turn after the write
 * (TLSWrap::OnStreamAfterWrite of Node), which can be after the answer.
 * @param {any} socket in use
 */
function isAlmostIdle (socket) {
  const request = socket._httpMessage
  return request?.res?.readableEnded === true && request.writableEnded && !request.writableFinished && request.shouldKeepAlive &&
    !socket.destroyed && unsent(socket._handle) === 0
}

/**
 * @param {any} Base the agent of node:http or node:https
 * @param {boolean} secure
 * @returns {any}
 */
const withHelper = (Base, secure) => class extends Base {
  #helper
  /** The request that Node's agent is being asked about. @type {any} */
  #asked = null
  #destroyed = 0

  /** @param {any} options */
  constructor (options) {
    const helper = new Helper(options, secure)
    super(withoutOurs(options))
    this.#helper = helper
  }

  /** @param {any} options @param {any} [callback] */
  createConnection (options, callback) {
    return this.#helper.createConnection(options, callback, (callback) => super.createConnection(options, callback))
  }

  // Node's one place where a request meets its agent. It is not documented; agent-base and others rely on it.
  // What Node throws here is thrown in the caller's http.request(), so nothing may put it off.
  /** @param {http.ClientRequest} request @param {any} options @param {any[]} rest */
  addRequest (request, options, ...rest) {
    if (this.#helper.config.disabled) return super.addRequest(request, options, ...rest)
    if (!this.#helper.takes(request, options)) return
    const own = /** @type {any} */ (request)
    own[kWay] = new Way(options, rest)
    this.#asked = request
    try {
      super.addRequest(request, options, ...rest)
    } catch (error) {
      refusedByNode(request, error)
      throw error
    } finally {
      this.#asked = null
    }
  }

  // Called where no idle socket was found and none is too many: here one that is about to be idle can be waited for.
  /** @param {any} request @param {any} options @param {any} callback */
  createSocket (request, options, callback) {
    const way = request[kWay]
    if (this.#asked === request && this.keepAlive && this.sockets[this.getName(options)]?.some(isAlmostIdle)) {
      this.#queue(request, options)
      way.queued = true
      this.#handOverRead(request)
      return
    }
    if (way?.queued !== true) return super.createSocket(request, options, callback)
    // The socket that was waited for is gone. The caller's http.request() has returned: what is thrown is an event.
    try {
      super.createSocket(request, options, callback)
    } catch (error) {
      callback(error)
    }
  }

  /** Node's agent queues what is above its limit. @param {any} request @param {any} options */
  #queue (request, options) {
    /** @type {any} */
    const agent = this
    const { maxSockets } = agent
    agent.maxSockets = 0
    try {
      super.addRequest(request, options)
    } finally {
      agent.maxSockets = maxSockets
    }
  }

  /** @param {any} socket */
  keepSocketAlive (socket) {
    const kept = super.keepSocketAlive(socket)
    if (kept) this.#helper.keep(socket)
    return kept
  }

  /** @param {any} socket @param {http.ClientRequest} request */
  reuseSocket (socket, request) {
    super.reuseSocket(socket, request)
    if (!this.#helper.config.disabled) this.#handOverRead(request)
  }

  destroy () {
    this.#destroyed++
    super.destroy()
  }

  /**
   * Patches `onSocket` of this one request, by which Node's agent gives it its socket: a used one is handed over when
   * what has arrived on it is read. A request whose socket has gone meanwhile asks the agent again.
   * @param {any} request
   */
  #handOverRead (request) {
    const { onSocket } = request
    const destroyed = this.#destroyed
    request.onSocket = (/** @type {any} */ socket, /** @type {any} */ error) => {
      request.onSocket = onSocket
      if (!socket || error) return onSocket.call(request, socket, error)
      whenRead(socket, (usable) => {
        if (usable || request.destroyed) return onSocket.call(request, socket)
        // As Node tells a request whose connection goes away.
        if (destroyed !== this.#destroyed) return onSocket.call(request, null, Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
        this.#askAgain(request, socket[kServerName])
      })
    }
  }

  /**
   * @param {any} request
   * @param {string | undefined} servername that Node found for it; by now its headers may have changed
   */
  #askAgain (request, servername) {
    const { options, rest } = request[kWay]
    request.reusedSocket = false
    this.#asked = request
    try {
      super.addRequest(request, servername === undefined ? options : { ...options, servername }, ...rest)
    } catch (error) {
      request.onSocket(null, error)
    } finally {
      this.#asked = null
    }
  }
}

/** @type {typeof http.Agent} */
const HttpBase = withHelper(http.Agent, false)
/** @type {typeof https.Agent} */
const HttpsBase = withHelper(https.Agent, true)

/**
 * An `http.Agent` for axios, got, node-fetch, AWS SDKs and plain `http.request()`.
 * Options are those of http.Agent, with ours beside them; `noDelay: false` is obeyed.
 */
export class HttpAgent extends HttpBase {
  /**
   * @param {http.AgentOptions & Options} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) { super(options) }
}

/** The same for https. On Node 20 and 22 it is what sets TCP_NODELAY on TLS at all (nodejs/node issue 62003). */
export class HttpsAgent extends HttpsBase {
  /**
   * @param {https.AgentOptions & Options} [options]
   * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`, when one of our options has a value that it cannot have
   */
  constructor (options = {}) { super(options) }
}
