/** Times one request of node:http by what it and its socket tell. Listeners are on these objects alone. */

import { errorMonitor } from 'node:events'
import { errorKind } from '../errors.js'
import { Call } from '../timing/call.js'
import { currentTimingId } from '../timing/id.js'

/**
 * Patches `emit` and `destroy` of this one request. Node asks whether anyone listens: it throws away an answer that
 * nobody listens for, and closes a connection that changes its protocol when nobody listens for that
 * (lib/_http_client.js, parserOnIncomingClient and socketOnData). So nothing here may be a listener for 'response',
 * 'upgrade' or 'connect'. And only `destroy` tells a caller who gives up from a peer who does.
 * @param {any} request a ClientRequest that an agent has just been given
 * @param {any} options of the request
 * @param {import('../timing/hooks.js').Hooks} hooks
 * @param {WeakMap<object, import('../timing/connection.js').Connection>} connections
 */
export function timeRequest (request, options, hooks, connections) {
  const host = request.getHeader?.('host') ?? options.host
  const call = new Call(hooks, currentTimingId(), request.method, `${request.protocol}//${host}${request.path}`)
  /** @type {any} */
  let failure
  /** @type {any} */
  let socket
  let givenUp = request.destroyed === true
  let timedOut = false
  let answering = false
  /** @type {any} */
  let reason

  const { emit, destroy } = request
  request.emit = function (/** @type {any[]} */ ...args) {
    if (args[0] === 'timeout') timedOut = true
    if (args[0] !== 'response') return emit.apply(this, args)
    call.headers(args[1].statusCode)
    watchBody(args[1], call)
    answering = true
    try {
      return emit.apply(this, args)
    } finally {
      answering = false
    }
  }
  request.destroy = function (/** @type {any} */ error) {
    // Who destroys a request when its answer begins, as follow-redirects does, has what it wanted.
    if (!answering) {
      givenUp = true
      reason ??= error
    }
    return destroy.call(this, error)
  }

  request.once('socket', (/** @type {any} */ given) => {
    socket = given
    const connection = connections.get(socket) ?? null
    call.slot = { connection }
    const acquired = () => {
      connection?.ready()
      if (call.running) call.acquired(connection)
    }
    if (socket.encrypted ? socket.secureConnecting : socket.connecting) {
      socket.prependOnceListener(socket.encrypted ? 'secureConnect' : 'connect', acquired)
    } else acquired()
    // node:http has its own listener by now, so this one does not start the flow.
    const firstByte = () => { if (call.running && !call.answered) call.firstByte() }
    socket.prependOnceListener('data', firstByte)
    request.on('information', (/** @type {any} */ { statusCode }) => {
      call.informational(statusCode)
      socket.prependOnceListener('data', firstByte)
    })
  })

  request.once('finish', () => call.requestSent())
  // errorMonitor: a listener for 'error' would take an error from the user that nobody listens for.
  request.once(errorMonitor, (/** @type {any} */ error) => { failure = givenUp ? causeOf(error, timedOut) : error })
  request.once('close', () => {
    const response = request.res ?? undefined
    if (response?.upgrade) {
      if (!call.answered) call.headers(response.statusCode)
      return call.finish(false)
    }
    if (response?.complete) return call.finish(!socket.destroyed)
    if (failure !== undefined) return call.fail(failure)
    // The peer went away in the middle of the answer.
    if (response !== undefined && (socket?.readableEnded || socket?.errored)) {
      return call.fail(socket.errored ?? { code: 'UND_ERR_SOCKET', message: 'the peer closed in the middle of the response' })
    }
    if (givenUp) return call.fail(causeOf(reason, timedOut))
    // The caller did not want the rest of the answer.
    call.finish(socket !== undefined && !socket.destroyed)
  })
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

/**
 * Patches `push` of this one response: a listener for 'data' would start the flow before the user wants it.
 * @param {any} response
 * @param {Call} call
 */
function watchBody (response, call) {
  const { push } = response
  /** @param {any} chunk @param {any} encoding */
  response.push = function (chunk, encoding) {
    if (chunk !== null) call.received(chunk.length)
    else if (call.running) call.responseEnd()
    return push.call(this, chunk, encoding)
  }
}
