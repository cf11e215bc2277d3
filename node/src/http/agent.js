/** Agents for node:http and node:https: TCP_NODELAY also where Node does not set it, one write for streams, records. */

import http from 'node:http'
import https from 'node:https'
import { readOptions } from '../config.js'
import { hide } from '../patch.js'
import * as hooks from '../timing/hooks.js'
import { Connection } from '../timing/connection.js'
import { joinWrites } from '../wire/coalesce.js'
import { setNoDelay } from '../wire/nodelay.js'
import { followSocket, HttpExchange } from './exchange.js'

/** @typedef {import('../config.js').Options} Options */
/** @typedef {http.AgentOptions & Options} HttpAgentOptions */
/** @typedef {https.AgentOptions & Options} HttpsAgentOptions */
/** @typedef {(error: Error | null, socket?: any) => void} OnSocket */

/** @typedef {import('../config.js').Config} Config */

/** On an agent. Not a #field: agents are inherited from, copied and put into a Proxy. */
const kConfig = Symbol('onewrite config')
/** Of a copy that lacks it: that of the environment. @type {Config | undefined} */
let ofCopies

/** Node's own `createConnection` works without `this`. @param {any} agent @returns {Config} */
function configOf (agent) { return agent?.[kConfig] ?? (ofCopies ??= readOptions()) }

/**
 * Overrides the documented method `createConnection`, and `addRequest`, to which Node passes each request. The latter
 * is not documented; agent-base and others rely on it. There is no other place where a request and its agent meet.
 * @param {any} Base the agent of node:http or node:https
 */
const withOurs = (Base) => /** @type {any} */ (class extends Base {
  /** @param {any} options */
  constructor (options) {
    const config = readOptions(options)
    super(options)
    hide(this, kConfig, config)
  }

  /** @param {any} options of the connection @param {OnSocket} [callback] */
  createConnection (options, callback) {
    const config = configOf(this)
    if (config.disabled) return super.createConnection(options, callback)
    const host = String(options.socketPath ? '' : options.host ?? '')
    const connection = config.hooks.length > 0 ? new Connection(host, this?.protocol === 'https:') : null
    const setUp = (/** @type {any} */ socket) => {
      // For an absent option it is on. For false Node's own agent has switched it off.
      if (!config.observe && options.noDelay !== false) setNoDelay(socket)
      if (connection !== null) followSocket(socket, connection)
    }
    /** @type {OnSocket | undefined} */
    const onSocket = callback && ((error, socket) => {
      if (socket) setUp(socket)
      callback(error, socket)
    })
    // Node returns the socket. Through a proxy it passes it to the callback.
    const socket = super.createConnection(options, onSocket)
    if (socket) setUp(socket)
    return socket
  }

  /** @param {any} request @param {any} options @param {any[]} rest */
  addRequest (request, options, ...rest) {
    const config = configOf(this)
    if (config.disabled) return super.addRequest(request, options, ...rest)
    const isTimed = config.hooks.length > 0 && !hooks.isHookRunning
    const exchange = isTimed ? new HttpExchange(config.hooks, request, Object(options)) : null
    if (!config.observe) request.once('socket', joinWrites)
    try {
      return super.addRequest(request, options, ...rest)
    } catch (error) {
      // The program's http.request() throws it, and there will be no event.
      exchange?.refused(error)
      throw error
    }
  }
})

/** @type {typeof http.Agent} */
const HttpBase = withOurs(http.Agent)
/** @type {typeof https.Agent} */
const HttpsBase = withOurs(https.Agent)

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
