/**
 * One write for a body that its source has at hand. Node corks the socket around the head and the first chunk, and each
 * time until the next tick, so chunks of one turn take two writes or more. Here the socket is corked from when a
 * request gets it until the end of that turn. Only public methods are used, and nothing is patched.
 */

/**
 * @param {number} max bytes; a body that is announced as longer is left to Node
 * @returns {(this: any, socket: any) => void} listener for 'socket' of a ClientRequest
 */
export function joinTurn (max) {
  return function (socket) {
    // An ended request is flushed in one write. A finished head is to leave at once: `flushHeaders()`, or Expect.
    if (this.writableEnded || this.headersSent || Number(this.getHeader('content-length')) > max) return
    // A user's own socket, or a mock, may lack the methods.
    if (typeof socket.cork !== 'function') return
    socket.cork()
    // `end()` has flushed the socket, and the next request may have corked it since.
    const flush = () => { if (!this.writableEnded) socket.uncork() }
    if (socket.secureConnecting) socket.once('secureConnect', flush)
    else if (socket.connecting) socket.once('connect', flush)
    else setImmediate(flush)
  }
}
