/**
 * Bytes that come on an idle connection answer no request (RFC 9112 section 9.2): such a connection carries no other.
 *
 * Node 22.23.3, 24.21 and 26.10 close one on which they read such bytes; 20.20 and 24.14 drop them and keep it. None
 * looks for those that it has not read yet: a request that is written while they wait in the kernel, because the
 * program was busy when they came, is given them as its answer. So a request waits here until the event loop has read
 * what is there.
 */

/**
 * Calls back once the event loop has read all that the kernel holds now. The first immediate may run in this turn
 * still, whose reads were begun before; between it and the second the loop polls.
 * @param {() => void} callback
 */
function afterPoll (callback) {
  setImmediate(setImmediate, callback)
}

/** @param {any} socket that has become idle */
export function guardIdle (socket) {
  if (!socket.listeners('data').includes(onIdleData)) socket.on('data', onIdleData)
}

/** @this {any} a socket */
function onIdleData () {
  this.destroy()
}

/** While a socket waits, neither Node's agent nor the request listens for its errors; it is destroyed with one. */
function onWaitingError () {}

/**
 * Hands over a used socket that the agent has just chosen for a request, once what had arrived on it is read.
 * @param {any} socket
 * @param {(usable: boolean) => void} handOver
 */
export function whenRead (socket, handOver) {
  guardIdle(socket)
  socket.on('error', onWaitingError)
  afterPoll(() => {
    socket.off('data', onIdleData)
    socket.off('error', onWaitingError)
    handOver(!socket.destroyed && socket.writable)
  })
}
