/** Times one request of node:http by what it and its socket tell. What is patched is these objects alone. */

import { errorKind } from '../errors.js'
import { Call } from '../timing/call.js'
import { connectionOf } from '../timing/connection.js'
import { currentTimingId } from '../timing/id.js'
import { serverTimingFields } from '../timing/server-timing.js'
import { isWhole } from './client-request.js'

const kNotes = Symbol('onewrite notes')

/**
 * Patches `emit` and `destroy` of this one request. Node asks whether anyone listens: it throws away an answer that
 * nobody listens for, and closes a connection that changes its protocol when nobody listens for that
 * (lib/_http_client.js, parserOnIncomingClient and socketOnData). So nothing here may be a listener for 'response',
 * 'upgrade' or 'connect'. And only `destroy` tells a caller who gives up from a peer who does.
 * @param {any} request a ClientRequest that an agent has just been given
 * @param {any} options of the request
 * @param {import('../timing/hooks.js').Hooks} hooks
 */
export function timeRequest (request, options, hooks) {
  const host = request.getHeader?.('host') ?? options.host
  // For a proxy that forwards, the path is a whole URL; for one that tunnels, `host:port`.
  const { path } = request
  const url = /^https?:\/\//.test(path) ? path : `${request.protocol}//${host}${path.startsWith('/') ? '' : '/'}${path}`
  const call = new Call(hooks, currentTimingId(), request.method, url)
  request[kNotes] = new Notes(call, request)
  request.emit = emit
  request.destroy = destroy
}

/**
 * Node's agent has thrown: the caller gets the error, and no event will come.
 * @param {any} request
 * @param {any} error
 */
export function refusedByNode (request, error) {
  /** @type {Notes | undefined} */
  const notes = request[kNotes]
  notes?.call.fail(error)
}

/** What is noted of one request. */
class Notes {
  /** @type {any} */
  failure = undefined
  /** @type {any} */
  socket = undefined
  timedOut = false
  answering = false
  /** @type {any} what the caller gave up with */
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

  /** Over TLS 'finish' is told a turn after the last byte was handed over, when the answer may be here. */
  wasSent () {
    // Node ends a body with an empty write.
    return isWhole(this.request) && this.socket?.writableBuffer?.every((/** @type {any} */ { chunk }) => chunk.length === 0) === true
  }

  /** @param {any} response */
  onResponse (response) {
    this.call.headers(response.statusCode, serverTimingFields(response.rawHeaders))
    // Not by a listener for 'data', which would start the flow before the user wants it.
    this.push = response.push
    response[kNotes] = this
    response.push = push
  }

  /** @param {any} error */
  onError (error) {
    this.failure ??= this.givenUp ? causeOf(error, this.timedOut) : error
    // Who listens for it, as a tracer that ends its span, is told after this.
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
    // The peer went away in the middle of the answer.
    if (response !== undefined && (socket?.readableEnded || socket?.errored)) {
      return call.fail(socket.errored ?? { code: 'UND_ERR_SOCKET', message: 'the peer closed in the middle of the response' })
    }
    if (this.givenUp) return call.fail(causeOf(this.reason, this.timedOut))
    // The caller did not want the rest of the answer.
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
  // Who destroys a request when its answer begins, as follow-redirects does, has what it wanted.
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
 * What ended a request that its caller destroyed. Node's own word for it, "socket hang up", is that of a peer who left.
 * @param {any} error that the request ended with
 * @param {boolean} timedOut a time limit of the request had run out
 */
function causeOf (error, timedOut) {
  // A body that could not be read is no giving up.
  if (error?.syscall !== undefined) return error
  const kind = error === undefined || error.message === 'socket hang up' ? 'other' : errorKind(error)
  if (kind !== 'other') return error
  return { name: timedOut ? 'TimeoutError' : 'AbortError', message: 'destroyed by the caller' }
}
