/**
 * Times one request of node:http by its events, by the `push` of its socket, and by Node's diagnostics channel for
 * responses. A listener for 'data' would start the flow before the user wants it, so `push` of a response whose length
 * is not known is replaced.
 */

import { AsyncResource } from 'node:async_hooks'
import diagnosticsChannel from 'node:diagnostics_channel'
import { errorMonitor } from 'node:events'
import { errorKind } from '../errors.js'
import { hide } from '../patch.js'
import { Call } from '../timing/call.js'
import { nowNs } from '../timing/clock.js'
import { Connection, connectionOf } from '../timing/connection.js'

/** @typedef {import('../timing/hooks.js').Hooks} Hooks */

let subscribed = false
const MANUAL = { requireManualDestroy: true }

/** @param {any} request @param {any} options @returns {string} as the caller gave it */
function originOf ({ protocol }, { host, port, defaultPort }) {
  const name = String(host ?? 'localhost')
  const isDefault = !port || Number(port) === Number(defaultPort || (protocol === 'https:' ? 443 : 80))
  const literal = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name
  return `${protocol}//${literal}${isDefault ? '' : `:${port}`}`
}

/**
 * Nothing here listens for 'response', 'upgrade' or 'connect': without a listener Node drops a response, and closes a
 * connection that is upgraded (lib/_http_client.js, parserOnIncomingClient and socketOnData).
 */
export class TimedRequest extends Call {
  /**
   * @param {Hooks} hooks
   * @param {any} request a ClientRequest that an agent has just been given
   * @param {any} options of the request
   * @param {((socket: any) => void) | null} onSocket listener for 'socket' of the request
   */
  constructor (hooks, request, options, onSocket) {
    if (!subscribed) diagnosticsChannel.subscribe('http.client.response.finish', onResponse)
    subscribed = true
    const context = new AsyncResource('OnewriteCall', MANUAL)
    super(hooks, context, String(request.method), originOf(request, options), String(request.path), true)
    this.request = request
    this.options = options
    this.joins = onSocket
    /** @type {any} */
    this.response = null
    /** @type {any} */
    this.socket = null
    /** @type {any} */
    this.failure = undefined
    /** Removes the listeners on a socket that is not yet connected. @type {(() => void) | null} */
    this.unfollow = null
    /** The caller destroyed the request. @type {boolean | undefined} undefined: it has not ended */
    this.givenUp = undefined
    this.onSocket = this.assigned.bind(this)
    this.onInformation = this.informed.bind(this)
    this.onError = this.errored.bind(this)
    this.onClose = this.ended.bind(this)
    request.on('socket', this.onSocket).on('information', this.onInformation).on(errorMonitor, this.onError)
      .on('close', this.onClose)
  }

  /** @param {any} socket that the request has been given */
  assigned (socket) {
    const { joins, options, request } = this
    this.socket = socket
    if (connectionOf(socket) === null) followed(socket, options, options.protocol === 'https:')
    const connection = connectionOf(socket)
    this.line = { connection }
    if (connection === null || !(socket.encrypted ? socket.secureConnecting : socket.connecting)) this.connected()
    else {
      const event = socket.encrypted ? 'secureConnect' : 'connect'
      const onOpened = () => this.connected()
      socket.prependOnceListener(event, onOpened)
      this.unfollow = () => {
        socket.off(event, onOpened)
        connection.unfollow()
      }
    }
    joins?.call(request, socket)
  }

  connected () {
    this.unfollow = null
    this.line?.connection?.opened()
    if (this.outcome !== undefined) return
    this.acquired()
    this.tell()
  }

  /** @param {any} message */
  informed ({ statusCode }) { this.interim(statusCode) }

  /** @param {boolean} [interim] */
  captureWrites (interim) {
    const { connection, request, socket } = this
    // Under TLS 'finish' comes one turn after the last byte was passed on, when the response may have arrived.
    this.sent ||= request?.writableFinished === true ||
      (request?.writableEnded === true && socket?.writableLength <= (connection?.inFlight ?? 0))
    super.captureWrites(interim)
  }

  /** @param {any} response whose length is not known */
  count (response) {
    const { push } = response
    const counting = (/** @type {any} */ chunk, /** @type {any} */ encoding) => {
      if (chunk !== null) this.bytesReceived += chunk.length
      else if (response.push === counting) delete response.push
      return push.call(response, chunk, encoding)
    }
    hide(response, 'push', counting)
  }

  /**
   * The socket has passed on what it read. Hooks are not called before: Node 22 and later lose what a listener of the
   * program throws in the parser's call, when an AsyncResource has run in that call.
   */
  readOn () {
    this.tell()
    const { response } = this
    if (response === null || !response.complete || this.responseEndNs !== 0) return
    // Its event comes when the request ends. Until then an abort in a listener is an error that Node does not catch.
    this.responseEnd()
    // A program may leave a response unread, as needle does at a redirect: then the request never closes.
    if (response.readableFlowing === true) return
    setImmediate(() => { if (this.outcome === undefined) this.over(response.readableEnded && !this.socket.destroyed) })
  }

  /** @param {any} error */
  errored (error) {
    const { socket } = this
    // Node also destroys a request that gets no socket.
    const byCaller = socket !== null || typeof error?.code !== 'string' || isHangUp(error)
    this.givenUp ??= this.request.destroyed && byCaller
    this.failure ??= this.givenUp ? this.causeOf(error) : error
    // Listeners, such as a tracer that ends its span, are called after this.
    if (this.outcome !== undefined) return
    this.captureWrites()
    this.progress()
  }

  ended () {
    const { request } = this
    const response = this.response ?? request.res ?? null
    // The program may have removed the listener for 'socket'.
    const socket = this.socket ?? request.socket
    if (response !== null && this.responseStartNs === 0) this.head(response.statusCode)
    if (response?.upgrade) return this.over(false)
    if (response?.complete) {
      this.responseEnd()
      return this.over(!socket.destroyed)
    }
    if (this.failure !== undefined) return this.failed(this.failure)
    if (response === null) return this.failed(this.causeOf(undefined))
    if (socket.errored) return this.failed(this.givenUp ? this.causeOf(socket.errored) : socket.errored)
    if (socket.readableEnded) return this.failed({ code: 'UND_ERR_SOCKET', message: 'closed in the response' })
    // A caller who drops a response unread, as follow-redirects does, or who destroys the response, did not cancel the
    // call. One who destroys the request or the agent did: then Node fails the response.
    if (response.errored && response.readableDidRead) return this.failed(this.causeOf(undefined))
    this.over(!socket.destroyed)
  }

  /** @param {boolean} reusable */
  over (reusable) {
    this.endAttempt('ok', this.responseEndNs || nowNs(), reusable)
    this.letGo()
  }

  /** @param {any} error */
  failed (error) {
    this.fail(error)
    this.letGo()
  }

  /** The record, which hooks may keep, leads to nothing of the request. */
  letGo () {
    this.request.off('socket', this.onSocket).off('information', this.onInformation).off(errorMonitor, this.onError)
      .off('close', this.onClose)
    this.unfollow?.()
    this.unfollow = this.request = this.options = this.joins = this.response = this.socket = this.failure = null
    this.close()
  }

  /** The cause of the end of a request that its caller destroyed. @param {any} error with which the request ended */
  causeOf (error) {
    // The body could not be read: the caller did not cancel.
    if (error?.syscall !== undefined) return error
    const kind = error === undefined || isHangUp(error) ? 'other' : errorKind(error)
    if (kind !== 'other') return error
    return { name: 'AbortError', message: 'destroyed by the caller' }
  }
}

/**
 * Node publishes a final response when its head is there, before the request's 'response' event.
 * @param {any} message of the channel
 */
function onResponse ({ request, response }) {
  const call = connectionOf(request.socket)?.call
  if (!(call instanceof TimedRequest) || call.request !== request) return
  call.response = response
  call.head(response.statusCode)
  const length = response.headers['content-length']
  if (length !== undefined) call.bytesReceived = call.method === 'HEAD' ? 0 : Number(length)
  else if (response.headers['transfer-encoding'] !== undefined || !response.shouldKeepAlive) call.count(response)
}

/** @param {any} socket of a request @param {any} options of the request or of the connection @param {boolean} secure */
export function followed (socket, options, secure) {
  const host = String(options.host ?? options.socketPath ?? '')
  const connection = new Connection(host, String(options.socketPath ?? `${host}:${options.port}`), secure)
  if (socket.connecting && typeof socket.prependOnceListener === 'function') connection.follow(socket)
  else connection.cannotFollow()
  connection.attach(socket, true)
}

/** Node's error for a request that its caller destroyed, and for a peer that closed. @param {any} error */
function isHangUp (error) {
  return error.code === 'ECONNRESET' && error.message === 'socket hang up'
}
