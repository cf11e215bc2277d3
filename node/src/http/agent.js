/** Agents for node:http and node:https: TCP_NODELAY also where Node does not set it, one write for streams, timing. */

import http from 'node:http'
import https from 'node:https'
import { resolveConfig, withoutOurs } from '../config.js'
import { Connection, unsent } from '../timing/connection.js'
import { resolveHooks } from '../timing/hooks.js'
import { holdUnfinished } from '../wire/coalesce.js'
import { setNoDelay } from '../wire/nodelay.js'
import { validateRequest } from './client-request.js'
import { nodeHttpFraming } from './framing.js'
import { noteIdle, whenRead } from './idle.js'
import { refusedByNode, timeRequest } from './timed-request.js'

/** @typedef {import('../config.js').Switches & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {(error: Error | null, socket?: any) => void} OnSocket */

const kPrepared = Symbol('onewrite prepared')

/** @param {any} options of a connection @param {boolean} secure @returns {number | undefined} none for a Unix socket */
function portOf ({ socketPath, port }, secure) {
  return socketPath ? undefined : Number(port) || (secure ? 443 : 80)
}

/** Key of a request's arguments to `addRequest`, in case it has to be added again; `queued`: it waits for a socket that is almost idle. */
const kAdded = Symbol('onewrite added')
const kServerName = Symbol('onewrite servername')

/**
 * Whether a socket will be idle within this turn of the event loop: the response was read to its end, the request has left
 * completely, and only its 'finish' event is missing. Under TLS that event comes one turn after the write
 * (TLSWrap::OnStreamAfterWrite of Node), which can be after the response.
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
const withOurs = (Base, secure) => class extends Base {
  #config
  #hooks
  /** The request that is being passed to Node's `addRequest`. @type {any} */
  #adding = null
  #destroyed = 0

  /** @param {any} options */
  constructor (options) {
    const config = resolveConfig(options)
    const hooks = resolveHooks(options, config)
    super(withoutOurs(options))
    this.#config = config
    this.#hooks = hooks
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
    socket[kServerName] = options.servername
    const { coalesceDisabled, coalesceMax } = this.#config
    // For an absent option it is on; for false Node's own agent has switched it off.
    if (options.noDelay !== false) setNoDelay(socket, this.#config, true)
    holdUnfinished(socket, coalesceDisabled ? 0 : coalesceMax, nodeHttpFraming)
    if (connection === null) return
    if (socket.connecting) connection.follow(socket)
    else connection.cannotFollow()
    connection.attach(socket)
    connection.watchReads(socket)
  }

  // The one place where Node passes a request to its agent. It is not documented; agent-base and others rely on it.
  // What Node throws here it throws in the caller's http.request(), so nothing may be deferred.
  /** @param {http.ClientRequest} request @param {any} options @param {any[]} rest */
  addRequest (request, options, ...rest) {
    if (this.#config.disabled) return super.addRequest(request, options, ...rest)
    const own = /** @type {any} */ (request)
    if (this.#hooks !== null) timeRequest(request, options, this.#hooks)
    const refused = validateRequest(request)
    if (refused !== null) {
      request.destroy(refused)
      // As Node's agent reports a connection that could not be made.
      own.onSocket(null, refused)
      return
    }
    own[kAdded] = { options, rest, queued: false }
    this.#adding = request
    try {
      super.addRequest(request, options, ...rest)
    } catch (error) {
      refusedByNode(request, error)
      throw error
    } finally {
      this.#adding = null
    }
  }

  // Node calls it when no socket is idle and the limit is not reached. A socket that is about to be idle is waited for.
  /** @param {any} request @param {any} options @param {any} callback */
  createSocket (request, options, callback) {
    const added = request[kAdded]
    if (this.#adding === request && this.keepAlive && this.sockets[this.getName(options)]?.some(isAlmostIdle)) {
      this.#queue(request, options)
      added.queued = true
      this.#handOverRead(request)
      return
    }
    if (added?.queued !== true) return super.createSocket(request, options, callback)
    // The awaited socket is gone. The caller's http.request() has returned, so an error must become an event.
    try {
      super.createSocket(request, options, callback)
    } catch (error) {
      callback(error)
    }
  }

  /** Node's agent queues a request that is above its limit. @param {any} request @param {any} options */
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
    if (kept && !this.#config.disabled) noteIdle(socket)
    return kept
  }

  /** @param {any} socket @param {http.ClientRequest} request */
  reuseSocket (socket, request) {
    super.reuseSocket(socket, request)
    if (!this.#config.disabled) this.#handOverRead(request)
  }

  destroy () {
    this.#destroyed++
    super.destroy()
  }

  /**
   * Patches `onSocket` of this one request, with which Node's agent gives it its socket: a reused socket is passed on when
   * what has arrived on it is read. If the socket is closed by then, the request is added again.
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
        // The error that Node gives a request whose connection is closed.
        if (destroyed !== this.#destroyed) return onSocket.call(request, null, Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
        this.#addAgain(request, socket[kServerName])
      })
    }
  }

  /**
   * @param {any} request
   * @param {string | undefined} servername that Node found for it; its headers may have changed since
   */
  #addAgain (request, servername) {
    const { options, rest } = request[kAdded]
    request.reusedSocket = false
    this.#adding = request
    try {
      super.addRequest(request, servername === undefined ? options : { ...options, servername }, ...rest)
    } catch (error) {
      request.onSocket(null, error)
    } finally {
      this.#adding = null
    }
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
