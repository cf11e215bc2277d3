/**
 * Times one request of node:http by its events and those of its socket, and by Node's diagnostics channel for
 * responses. One method is patched, `push` of the response: a listener for 'data' would start the flow before the user
 * wants it.
 */

import { AsyncResource } from 'node:async_hooks'
import diagnosticsChannel from 'node:diagnostics_channel'
import { errorMonitor } from 'node:events'
import { errorKind } from '../errors.js'
import { Call } from '../timing/call.js'
import { connectionOf } from '../timing/connection.js'

let subscribed = false

/**
 * Nothing here listens for 'response', 'upgrade' or 'connect': without a listener Node drops a response, and closes a
 * connection that is upgraded (lib/_http_client.js, parserOnIncomingClient and socketOnData).
 * @param {any} request a ClientRequest that an agent has just been given
 * @param {any} options of the request
 * @param {{hooks: import('../timing/hooks.js').Hooks | null}} owner
 * @returns {Call}
 */
export function timeRequest (request, options, owner) {
  if (!subscribed) {
    subscribed = true
    diagnosticsChannel.subscribe('http.client.response.finish', onResponse)
  }
  const host = request.getHeader?.('host') ?? options.host
  // The path is a whole URL for a proxy that forwards, `host:port` for one that tunnels.
  const path = String(request.path)
  const url = /^https?:\/\//.test(path) ? path : `${request.protocol}//${host}${path.startsWith('/') ? '' : '/'}${path}`
  const call = new Call(owner, new AsyncResource('OnewriteCall'), request.method, url)
  call.sentBy(new TimedRequest(call, request))
  return call
}

/** Node publishes a final response when its head is there, before the request's 'response' event. */
function onResponse (/** @type {any} */ { request, response }) {
  const sender = /** @type {TimedRequest | null | undefined} */ (connectionOf(request.socket)?.call?.sender)
  if (sender && sender.request === request) sender.onResponse(response)
}

class TimedRequest {
  /** Of the response, while it is read. @type {any} */
  push = undefined
  /** @type {any} */
  failure = undefined
  /** @type {any} */
  socket = undefined
  timedOut = false
  /** The caller destroyed the request. @type {boolean | undefined} undefined: it has not ended */
  givenUp = undefined

  constructor (call, request) {
    this.call = call
    this.request = request
    for (const event of Reflect.ownKeys(this.listeners)) request.on(event, /** @type {any} */ (this.listeners)[event])
  }

  /** By event of the request; none is left on a request that is closed. */
  listeners = {
    socket: (socket) => this.onSocket(socket),
    information: (/** @type {any} */ { statusCode }) => this.onInformation(statusCode),
    timeout: () => { this.timedOut = true },
    [errorMonitor]: (error) => this.onError(error),
    close: () => this.onClose()
  }

  /** @param {any} socket that the request has been given */
  onSocket (socket) {
    this.socket = socket
    const { call } = this
    const connection = connectionOf(socket)
    call.carriedBy({ connection })
    this.watchFirstByte()
    socket.prependListener('close', this.onSocketClose)
    if (socket.encrypted ? !socket.secureConnecting : !socket.connecting) return this.acquired(connection)
    socket.prependOnceListener(socket.encrypted ? 'secureConnect' : 'connect', () => this.acquired(connection))
  }

  /**
   * Before Node's own listener. The flow is not started by `prependOnceListener`, and the listener goes with the byte.
   */
  watchFirstByte () {
    this.socket.prependOnceListener('data', this.onData)
  }

  onData = () => this.call.read()

  /** Called before Node's listener, which marks the request as destroyed whoever ended it. */
  onSocketClose = () => { this.givenUp ??= this.request.destroyed }

  acquired (connection) {
    connection?.opened()
    if (this.call.running) this.call.acquired(connection)
  }

  /** Under TLS 'finish' comes one turn after the last byte was passed on, when the response may have arrived. */
  wasSent () {
    const { request, socket } = this
    if (request.writableFinished) return true
    // What is left may be the empty write with which Node ends a body.
    return request.writableEnded && socket?.writableBuffer?.every(({ chunk }) => chunk.length === 0) === true
  }

  /** @param {number} status 100 to 199 */
  onInformation (status) {
    this.call.head(status)
    this.watchFirstByte()
  }

  onResponse (response) {
    const { call } = this
    call.head(response.statusCode)
    const { push } = response
    this.push = response.push = (/** @type {any} */ chunk, /** @type {any} */ encoding) => {
      if (chunk !== null) call.received(chunk.length)
      else if (call.running) {
        call.responseEnd()
        // A program may leave a response unread, as needle does at a redirect: then the request never closes.
        const finish = () => call.finish(response.readableEnded && !this.socket.destroyed)
        if (response.readableFlowing !== true) setImmediate(finish)
      }
      return push.call(response, chunk, encoding)
    }
  }

  onError (error) {
    const { call, socket } = this
    // Node also destroys a request that gets no socket.
    const byCaller = socket !== undefined || typeof error?.code !== 'string' || isHangUp(error)
    this.givenUp ??= this.request.destroyed && byCaller
    this.failure ??= this.givenUp ? causeOf(error, this.timedOut) : error
    // Listeners, such as a tracer that ends its span, are called after this.
    if (!call.running) return
    call.captureWrites()
    call.progress()
  }

  onClose () {
    const { call, socket, request } = this
    const response = request.res ?? undefined
    socket?.off('close', this.onSocketClose).off('data', this.onData)
    for (const event of Reflect.ownKeys(this.listeners)) request.off(event, /** @type {any} */ (this.listeners)[event])
    if (response !== undefined && response.push === this.push) delete response.push
    if (response?.upgrade) {
      if (!call.answered) call.head(response.statusCode)
      return call.finish(false)
    }
    if (response?.complete) return call.finish(!socket.destroyed)
    if (this.failure !== undefined) return call.fail(this.failure)
    if (response === undefined) return call.fail(causeOf(undefined, this.timedOut))
    if (socket.errored) return call.fail(this.givenUp ? causeOf(socket.errored, this.timedOut) : socket.errored)
    const early = { code: 'UND_ERR_SOCKET', message: 'the peer closed in the middle of the response' }
    if (socket.readableEnded) return call.fail(early)
    // A caller who drops a response unread, as follow-redirects does, or who destroys the response, did not cancel the
    // call.
    if (this.givenUp && response.readableDidRead) return call.fail(causeOf(undefined, this.timedOut))
    call.finish(!socket.destroyed)
  }
}

/** Node's error for a request that its caller destroyed, and for a peer that closed. */
function isHangUp (error) {
  return error.code === 'ECONNRESET' && error.message === 'socket hang up'
}

/**
 * The cause of the end of a request that its caller destroyed.
 * @param {any} error with which the request ended
 * @param {boolean} timedOut a timeout of the request had expired
 */
function causeOf (error, timedOut) {
  // The body could not be read: the caller did not cancel.
  if (error?.syscall !== undefined) return error
  const kind = error === undefined || isHangUp(error) ? 'other' : errorKind(error)
  if (kind !== 'other') return error
  return { name: timedOut ? 'TimeoutError' : 'AbortError', message: 'destroyed by the caller' }
}
