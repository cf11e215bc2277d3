/**
 * Times one request of node:http by its events, by methods of its socket, and by Node's diagnostics channel for
 * responses. Of a response `push` is patched: a listener for 'data' would start the flow before the user wants it.
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
 * @param {((socket: any) => void) | null} onSocket listener for 'socket' of the request
 * @returns {Call}
 */
export function timeRequest (request, options, owner, onSocket) {
  if (!subscribed) {
    subscribed = true
    diagnosticsChannel.subscribe('http.client.response.finish', onResponse)
  }
  const origin = `${request.protocol}//${request.getHeader?.('host') ?? options.host}`
  const call = new Call(owner, new AsyncResource('OnewriteCall'), request.method, origin, String(request.path))
  call.carriedBy(new TimedRequest(call, request, onSocket))
  return call
}

/** Node publishes a final response when its head is there, before the request's 'response' event. */
function onResponse (/** @type {any} */ { request, response }) {
  const timed = /** @type {TimedRequest | null | undefined} */ (connectionOf(request.socket)?.carrier)
  if (timed && timed.request === request) timed.onResponse(response)
}

/** The carrier of its call. */
class TimedRequest {
  /** @type {import('../timing/connection.js').Connection | null} */
  connection = null
  /** @type {any} */
  socket = undefined
  /** `push` of the response, while it is read. @type {any} */
  push = undefined
  /** @type {any} */
  failure = undefined
  timedOut = false
  /** The caller destroyed the request. @type {boolean | undefined} undefined: it has not ended */
  givenUp = undefined

  constructor (call, request, onSocket) {
    this.call = call
    this.request = request
    this.onSocket = (socket) => {
      this.assigned(socket)
      onSocket?.call(request, socket)
    }
    this.onInformation = ({ statusCode }) => this.call.head(statusCode)
    this.onTimeout = () => { this.timedOut = true }
    this.onError = (error) => this.failed(error)
    this.onClose = () => this.closed()
    request.on('socket', this.onSocket).on('information', this.onInformation).on('timeout', this.onTimeout)
      .on(errorMonitor, this.onError).on('close', this.onClose)
  }

  /** @param {any} socket that the request has been given */
  assigned (socket) {
    this.socket = socket
    const connection = this.connection = connectionOf(socket)
    if (connection !== null) connection.carrier = this
    if (socket.encrypted ? !socket.secureConnecting : !socket.connecting) return this.connected()
    socket.prependOnceListener(socket.encrypted ? 'secureConnect' : 'connect', () => this.connected())
  }

  connected () {
    this.connection?.opened()
    if (this.call.running) this.call.acquired(this.connection)
  }

  /** The socket is destroyed. Node marks the request later, so a mark that is set now is the caller's. */
  socketDestroyed () { this.givenUp ??= this.request.destroyed }

  /** Under TLS 'finish' comes one turn after the last byte was passed on, when the response may have arrived. */
  wasSent () {
    const { request, socket } = this
    if (request.writableFinished) return true
    // What is left may be the empty write with which Node ends a body.
    return request.writableEnded && socket?.writableBuffer?.every(({ chunk }) => chunk.length === 0) === true
  }

  onResponse (response) {
    const { call } = this
    call.head(response.statusCode)
    const { push } = response
    // Node adds these two next. V8 deletes the newest property of an object fast, and any other by a slow copy.
    response.req = this.request
    response._eventsCount += 0
    this.push = response.push = (/** @type {any} */ chunk, /** @type {any} */ encoding) => {
      if (chunk !== null) call.received(chunk.length)
      else {
        if (response.push === this.push) delete response.push
        if (call.running) {
          call.responseEnd()
          // A program may leave a response unread, as needle does at a redirect: then the request never closes.
          const finish = () => call.finish(response.readableEnded && !this.socket.destroyed)
          if (response.readableFlowing !== true) setImmediate(finish)
        }
      }
      return push.call(response, chunk, encoding)
    }
  }

  failed (error) {
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

  closed () {
    const { call, connection, request } = this
    const response = request.res ?? undefined
    // The program may have removed the listener for 'socket'.
    const socket = this.socket ?? request.socket
    if (connection?.carrier === this) connection.carrier = null
    request.off('socket', this.onSocket).off('information', this.onInformation).off('timeout', this.onTimeout)
      .off(errorMonitor, this.onError).off('close', this.onClose)
    if (this.push !== undefined && response?.push === this.push) delete response.push
    if (response !== undefined && !call.answered) call.head(response.statusCode)
    if (response?.upgrade) return call.finish(false)
    if (response?.complete) return call.finish(!socket.destroyed)
    if (this.failure !== undefined) return call.fail(this.failure)
    if (response === undefined) return call.fail(causeOf(undefined, this.timedOut))
    if (socket.errored) return call.fail(this.givenUp ? causeOf(socket.errored, this.timedOut) : socket.errored)
    const early = { code: 'UND_ERR_SOCKET', message: 'closed in the middle of the response' }
    // By the peer, or by who destroyed the socket or its agent.
    if (socket.readableEnded || (!this.givenUp && response.errored)) return call.fail(early)
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
