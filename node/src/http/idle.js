/**
 * Bytes that come on an idle connection answer no request (RFC 9112 section 9.2): such a connection carries no other.
 *
 * Node 22.23.3, 24.21 and 26.10 close one on which they read such bytes; 20.20 and 24.14 drop them and keep it. None
 * looks for those that it has not read yet: a request that is written while they wait in the kernel, because the
 * program was busy when they came, is given them as its answer. So a request waits here until the event loop has read
 * what is there.
 */

/**
 * @param {any} agent of Node
 * @returns {boolean} it holds an idle connection, of whatever origin
 */
export function hasIdle (agent) {
  return Object.keys(agent.freeSockets).length > 0
}

/**
 * Calls back once the event loop has read all that the kernel holds now. The first immediate may run in this turn
 * still, whose reads were begun before; between it and the second the loop polls.
 * @param {() => void} callback
 */
export function afterPoll (callback) {
  setImmediate(setImmediate, callback)
}

/** @param {any} socket that has become idle */
export function guardIdle (socket) {
  socket.on('data', onIdleData)
}

/** @param {any} socket that is to carry another request */
export function endGuard (socket) {
  socket.off('data', onIdleData)
}

/** @this {any} a socket */
function onIdleData () {
  this.destroy()
}
