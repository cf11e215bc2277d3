/** Agents for node:http and node:https: TCP_NODELAY also where Node loses it, one write for streams, timing. */

import http from 'node:http'
import https from 'node:https'
import { holdUnfinished } from '../coalesce.js'
import { resolveConfig, withoutOurs } from '../config.js'
import { Connection } from '../timing/connection.js'
import { resolveHooks } from '../timing/hooks.js'
import { holdToFloor } from './floor.js'
import { nodeHttpFraming } from './framing.js'
import { afterPoll, endGuard, guardIdle, hasIdle } from './idle.js'
import { timeRequest } from './time.js'

/** @typedef {import('../config.js').Switches & import('../timing/hooks.js').HookOptions} Options */
/** @typedef {(error: Error | null, socket?: any) => void} OnSocket */

const kPrepared = Symbol('onewrite prepared')

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
    const connection = this.hooks === null ? null : new Connection(String(options.host ?? options.socketPath ?? ''), this.secure)
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
    if (socket[kPrepared]) return
    socket[kPrepared] = true
    const { nodelayDisabled, coalesceDisabled, coalesceMax } = this.config
    if (!nodelayDisabled && options.noDelay !== false) socket.setNoDelay?.(true)
    if (!coalesceDisabled) holdUnfinished(socket, coalesceMax, nodeHttpFraming)
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
    const refused = holdToFloor(request)
    if (refused === null) return true
    request.destroy(refused)
    // As Node's agent tells of a connection that could not be made.
    request.onSocket(null, refused)
    return false
  }

  /**
   * @param {any} agent
   * @param {() => void} add hands a request to Node's agent
   */
  add (agent, add) {
    if (this.config.disabled || !hasIdle(agent)) add()
    else afterPoll(add)
  }

  /** @param {any} socket that has become idle */
  keep (socket) {
    if (!this.config.disabled) guardIdle(socket)
  }
}

/**
 * @param {any} Base the agent of node:http or node:https
 * @param {boolean} secure
 * @returns {any}
 */
const withHelper = (Base, secure) => class extends Base {
  #helper

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
  /** @param {http.ClientRequest} request @param {any} options @param {any[]} rest */
  addRequest (request, options, ...rest) {
    if (this.#helper.takes(request, options)) this.#helper.add(this, () => super.addRequest(request, options, ...rest))
  }

  /** @param {any} socket */
  keepSocketAlive (socket) {
    const kept = super.keepSocketAlive(socket)
    if (kept) this.#helper.keep(socket)
    return kept
  }

  /** @param {any} socket @param {http.ClientRequest} request */
  reuseSocket (socket, request) {
    endGuard(socket)
    super.reuseSocket(socket, request)
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
