/**
 * Bytes that arrive on an idle connection answer no request (RFC 9112 section 9.2): the connection must not be reused.
 *
 * Node 22.23.3, 24.21 and 26.10 close a connection on which they read such bytes; 20.20 and 24.14 drop the bytes and keep
 * it. No version checks for bytes that it has not read yet. When they arrived while the program was busy, a request that is
 * written next gets them as its response. So here a request waits until the event loop has read what is there.
 *
 * `bytesRead` shows that something was read. A listener for 'data' would show it too, but on an idle socket it is taken
 * for a response that is not over, as by node-fetch 2.
 */

const kBytesRead = Symbol('onewrite bytes read')

/** @param {any} socket that has become idle */
export function noteIdle (socket) {
  socket[kBytesRead] = socket.bytesRead
}

/** While a socket waits, neither Node's agent nor the request listens for errors. An error destroys it by itself. */
function onWaitingError () {}

/**
 * Calls back when what has arrived on a socket is read.
 * @param {any} socket reused, which the agent has just chosen for a request
 * @param {(usable: boolean) => void} handOver
 */
export function whenRead (socket, handOver) {
  const before = socket[kBytesRead] ?? socket.bytesRead
  socket[kBytesRead] = undefined
  socket.on('error', onWaitingError)
  // Two immediates: the first may run in this turn, whose reads have begun. The event loop polls before the second.
  setImmediate(setImmediate, () => {
    socket.off('error', onWaitingError)
    if (socket.bytesRead !== before) socket.destroy()
    handOver(!socket.destroyed && socket.writable)
  })
}
