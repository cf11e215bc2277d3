/** Times one request of node:http by its events and those of its socket. Only these objects are patched. */

import { errorKind } from '../errors.js'
import { Call } from '../timing/call.js'
import { connectionOf } from '../timing/connection.js'
import { currentTimingId } from '../timing/id.js'
import { serverTimingFields } from '../timing/server-timing.js'
import { isWhole } from './client-request.js'

const kNotes = Symbol('onewrite notes')

/**
 * Patches `emit` and `destroy` of this one request. Node checks whether there are listeners: without them it drops a
 * response, and closes a connection that is upgraded (lib/_http_client.js, parserOnIncomingClient and socketOnData). So
 * nothing here may listen for 'response', 'upgrade' or 'connect'. And only `destroy` shows that it was the caller who
 * ended the request, not the peer.
 * @param {any} request a ClientRequest that an agent has just been given
 * @param {any} options of the request
 * @param {import('../timing/hooks.js').Hooks} hooks
 */
export function timeRequest (request, options, hooks) {
  const host = request.getHeader?.('host') ?? options.host
  // The path is a whole URL for a proxy that forwards, `host:port` for one that tunnels.
  const { path } = request
  const url = /^https?:\/\//.test(path) ? path : `${request.protocol}//${host}${path.startsWith('/') ? '' : '/'}${path}`
  const call = new Call(hooks, currentTimingId(), request.method, url)
  request[kNotes] = new Notes(call, request)
  request.emit = emit
  request.destroy = destroy
}

/**
 * Node's agent has thrown: the caller gets the error, and there will be no event.
 * @param {any} request
 * @param {any} error
 */
export function refusedByNode (request, error) {
  /** @type {Notes | undefined} */
  const notes = request[kNotes]
  notes?.call.fail(error)
}

/** What is noted of one request, beside its call. */
class Notes {
  /** @type {any} */
  failure = undefined
  /** @type {any} */
  socket = undefined
  timedOut = false
  answering = false
  /** @type {any} the argument of the caller's `destroy()` */
  reason = undefined
  /** @type {any} the response's own `push` */
  push = undefined

  /** @param {Call} call @param {any} request */
  constructor (call, request) {
    this.call = call
    call.sender = this
    this.request = request
    this.emit = request.emit
    this.destroy = request.destroy
    this.givenUp = request.destroyed === true
  }

  /** @param {any} socket that the request has been given */
  onSocket (socket) {
    this.socket = socket
    const { call } = this
    const connection = connectionOf(socket)
    call.slot = { connection }
    if (socket.encrypted ? !socket.secureConnecting : !socket.connecting) return this.acquired(connection)
    socket.prependOnceListener(socket.encrypted ? 'secureConnect' : 'connect', () => this.acquired(connection))
  }

  /** @param {import('../timing/connection.js').Connection | null} connection */
  acquired (connection) {
    connection?.ready()
    if (this.call.running) this.call.acquired(connection)
  }

  /** Under TLS 'finish' comes one turn after the last byte was passed on, when the response may have arrived. */
  wasSent () {
    // What is left may be the empty write with which Node ends a body.
    return isWhole(this.request) && this.socket?.writableBuffer?.every((/** @type {any} */ { chunk }) => chunk.length === 0) === true
  }

  /** @param {any} response */
  onResponse (response) {
    this.call.headers(response.statusCode, serverTimingFields(response.rawHeaders))
    // Not a listener for 'data', which would start the flow before the user wants it.
    this.push = response.push
    response[kNotes] = this
    response.push = push
  }

  /** @param {any} error */
  onError (error) {
    this.failure ??= this.givenUp ? causeOf(error, this.timedOut) : error
    // Listeners, such as a tracer that ends its span, are called after this.
    const { call } = this
    if (!call.running) return
    call.captureWrites()
    call.progress()
  }

  /** @param {any} request */
  onClose (request) {
    const { call, socket } = this
    const response = request.res ?? undefined
    if (response?.upgrade) {
      if (!call.answered) call.headers(response.statusCode)
      return call.finish(false)
    }
    if (response?.complete) return call.finish(!socket.destroyed)
    if (this.failure !== undefined) return call.fail(this.failure)
    // The peer closed within the response.
    if (response !== undefined && (socket?.readableEnded || socket?.errored)) {
      return call.fail(socket.errored ?? { code: 'UND_ERR_SOCKET', message: 'the peer closed in the middle of the response' })
    }
    if (this.givenUp) return call.fail(causeOf(this.reason, this.timedOut))
    // The caller did not want the rest of the response.
    call.finish(socket !== undefined && !socket.destroyed)
  }
}

/** @this {any} a request @param {string | symbol} name @param {any[]} args */
function emit (name, ...args) {
  /** @type {Notes} */
  const notes = this[kNotes]
  switch (name) {
    case 'response':
      notes.onResponse(args[0])
      notes.answering = true
      try {
        return notes.emit.call(this, name, ...args)
      } finally {
        notes.answering = false
      }
    case 'finish': notes.call.requestSent(); break
    case 'information': notes.call.informational(args[0].statusCode); break
    case 'timeout': notes.timedOut = true; break
    case 'error': notes.onError(args[0]); break
    case 'close': notes.onClose(this); break
    case 'socket': notes.onSocket(args[0]); break
  }
  return notes.emit.call(this, name, ...args)
}

/** @this {any} a request @param {any} [error] */
function destroy (error) {
  /** @type {Notes} */
  const notes = this[kNotes]
  // A caller who destroys a request when its response begins, as follow-redirects does, did not cancel it.
  if (!notes.answering) {
    notes.givenUp = true
    notes.reason ??= error
  }
  return notes.destroy.call(this, error)
}

/** @this {any} a response @param {any} chunk @param {any} encoding */
function push (chunk, encoding) {
  /** @type {Notes} */
  const { call, push } = this[kNotes]
  if (chunk !== null) call.received(chunk.length)
  else if (call.running) call.responseEnd()
  return push.call(this, chunk, encoding)
}

/**
 * What ended a request that its caller destroyed. Node's error for it, "socket hang up", is also that of a peer who closed.
 * @param {any} error with which the request ended
 * @param {boolean} timedOut a timeout of the request had expired
 */
function causeOf (error, timedOut) {
  // The body could not be read: the caller did not cancel.
  if (error?.syscall !== undefined) return error
  const kind = error === undefined || error.message === 'socket hang up' ? 'other' : errorKind(error)
  if (kind !== 'other') return error
  return { name: timedOut ? 'TimeoutError' : 'AbortError', message: 'destroyed by the caller' }
}
