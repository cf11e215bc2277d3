/**
 * Times one request of node:http by its own events, and by Node's diagnostics channel for responses. Nothing listens
 * for 'response', 'upgrade' or 'connect' of the request: without a listener of the program Node drops a response, and
 * closes a connection that is upgraded (lib/_http_client.js, parserOnIncomingClient and socketOnData).
 */

import diagnosticsChannel from 'node:diagnostics_channel'
import { errorMonitor } from 'node:events'
import { errorKind } from '../errors.js'
import { hide, unpatch } from '../patch.js'
import { Connection } from '../timing/connection.js'
import { Exchange } from '../timing/record.js'

/** On a request: the exchange. */
const kExchange = Symbol('onewrite exchange')
/** On a socket: its connection. */
const kConnection = Symbol('onewrite connection')
let subscribed = false

/** @internal @param {any} socket of an agent @param {Connection} connection that it makes */
export function followSocket (socket, connection) {
  hide(socket, kConnection, connection)
  connection.socket = socket
  connection.follow(socket)
  if (!(socket.encrypted ? socket.secureConnecting : socket.connecting)) connection.opened(socket)
}

/** @internal */
export class HttpExchange extends Exchange {
  /** @type {any} */
  #request
  /** @type {any} */
  #response = null
  /** @type {any} */
  #error = undefined
  #byProgram = false

  /**
   * @param {import('../config.js').Hook[]} hooks
   * @param {any} request that was just passed to an agent
   * @param {any} options
   */
  constructor (hooks, request, options) {
    super(hooks, String(request.method), originOf(request, options), String(request.path))
    this.#request = request
    hide(request, kExchange, this)
    request.on('socket', onSocket).on('prefinish', onPrefinish).on(errorMonitor, onError).on('close', onClose)
    if (!subscribed) diagnosticsChannel.subscribe('http.client.response.finish', onResponse)
    subscribed = true
  }

  /** @param {any} socket that was assigned to the request */
  assigned (socket) {
    // One that the request's own option `createConnection` made.
    if (socket[kConnection] === undefined) followSocket(socket, new Connection('', socket.encrypted === true))
    /** @type {Connection} */
    const connection = socket[kConnection]
    connection.timedOut = false
    // follow-redirects, and with it axios, ends a request by this event of the socket alone.
    socket.on('timeout', onTimeout)
    if (connection.ready) this.acquired(connection)
    else connection.exchange = this
  }

  /** @param {any} response whose head was read */
  responded (response) {
    if (this.#request === null) return
    this.#response = response
    this.head(response.statusCode)
    // A listener for 'data' would start the flow before the program wants it.
    hide(response, 'push', push)
  }

  /** @param {any} error */
  errored (error) {
    if (this.#error !== undefined) return
    this.#error = error
    // Node destroys a request too: one that gets no socket, and one whose peer closes or resets.
    this.#byProgram = this.#request.destroyed && error?.syscall === undefined &&
      (this.#request.socket != null || typeof error?.code !== 'string' || error.message === 'socket hang up')
  }

  /** Node refused the request. @param {any} error */
  refused (error) {
    this.#release()
    this.failed(error, false)
  }

  /** The request is closed. */
  closed () {
    const request = this.#request
    const error = this.#error
    const { socket } = request
    const response = this.#response ?? request.res ?? null
    const connection = socket?.[kConnection] ?? null
    this.#release()
    if (response !== null && this.status === undefined) this.head(response.statusCode)
    if (response !== null && (response.complete || response.upgrade) && error === undefined) return this.succeeded()
    const cause = error ?? socket?.errored ?? undefined
    if (cause !== undefined && !this.#byProgram) return this.failed(cause, false, connection)
    if (connection?.timedOut) return this.failed({ code: 'ETIMEDOUT' }, false, connection)
    if (cause !== undefined) return this.failed(cause, true, connection)
    if (response === null) return this.failed(undefined, true, connection)
    // The peer closed in the body.
    if (socket?.readableEnded) return this.failed({ code: 'UND_ERR_SOCKET' }, false)
    // A program that destroys the response wants no more of it. One that destroys the request, or the agent, gave it
    // up: then Node fails the response.
    if (response.errored && response.readableDidRead && errorKind(response.errored) === 'reset') {
      return this.failed(undefined, true)
    }
    this.succeeded()
  }

  /** The record, which a hook may keep, leads to nothing of the request, and nothing of the request to it. */
  #release () {
    const [request, response] = [this.#request, this.#response]
    this.#request = this.#response = this.#error = null
    request.off('socket', onSocket).off('prefinish', onPrefinish).off(errorMonitor, onError).off('close', onClose)
    request.socket?.off('timeout', onTimeout)
    delete request[kExchange]
    if (response !== null) unpatch(response, 'push', push, Object.getPrototypeOf(response).push)
  }
}

// The listeners are the same functions for all requests.

/** @this {any} @param {any} socket */
function onSocket (socket) { this[kExchange].assigned(socket) }
/** @this {any} */
function onPrefinish () { this[kExchange].passed() }
/** @this {any} @param {any} error */
function onError (error) { this[kExchange].errored(error) }
/** @this {any} */
function onClose () { this[kExchange].closed() }
/** @this {any} the socket */
function onTimeout () { this[kConnection].timedOut = true }

/** Replaces that of a response. @this {any} @param {any} chunk @param {any} encoding */
function push (chunk, encoding) {
  const exchange = this.req?.[kExchange]
  if (chunk === null) exchange?.lastByte()
  else if (exchange !== undefined) exchange.bytesReceived += chunk.length
  return Object.getPrototypeOf(this).push.call(this, chunk, encoding)
}

/**
 * Node publishes a final response when its head is there, before the request's 'response' event.
 * @param {any} message of the channel
 */
function onResponse ({ request, response }) { request[kExchange]?.responded(response) }

/** @param {any} request @param {any} options @returns {string} as the program gave it */
function originOf ({ protocol }, { host, port, defaultPort }) {
  const name = String(host ?? 'localhost')
  const isDefault = !port || Number(port) === Number(defaultPort || (protocol === 'https:' ? 443 : 80))
  const literal = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name
  return `${protocol}//${literal}${isDefault ? '' : `:${port}`}`
}
