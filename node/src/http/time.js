/** Times one request of node:http by what it and its socket tell. Listeners are on these objects alone. */

import { errorMonitor } from 'node:events'
import { Call } from '../timing/call.js'
import { currentTimingId } from '../timing/id.js'

/**
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
  request.once('response', (/** @type {any} */ response) => {
    call.headers(response.statusCode)
    watchBody(response, call)
  })
  request.once('upgrade', (/** @type {any} */ response) => {
    call.headers(response.statusCode)
    call.finish(false)
  })
  // errorMonitor: a listener for 'error' would take an error from the user that nobody listens for.
  request.once(errorMonitor, (/** @type {any} */ error) => { failure = error })
  request.once('close', () => {
    const response = request.res
    if (failure !== undefined && !response?.complete) return call.fail(failure)
    // The peer went away in the middle of the answer; otherwise it was the caller who did not want the rest.
    if (response !== undefined && response !== null && !response.complete && (socket?.readableEnded || socket?.errored)) {
      return call.fail(socket.errored ?? { code: 'UND_ERR_SOCKET', message: 'the peer closed in the middle of the response' })
    }
    call.finish(socket !== undefined && !socket.destroyed)
  })
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
