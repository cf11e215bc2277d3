/**
 * The end of a response takes Node's listener for 'drain' off the socket, although the request may wait for that event
 * to write or end its body (socketOnData of lib/_http_client.js). Then the upload never ends. Under TLS a write is
 * reported as done a turn late, so an answer that is fast enough can come first; without Nagle's algorithm it does so
 * more often. So the listener is added a second time: it does nothing unless a request waits.
 */

/** Node's listener, the same for all sockets. @type {any} */
let onDrain

function find (socket) {
  // A user's own socket, or a mock, may lack the method.
  onDrain ??= socket.listeners?.('drain').find(({ name }) => name === 'ondrain')
  return onDrain !== undefined
}

/** Listener for 'socket'. @this {any} the request @param {any} socket */
export function keepDrain (socket) {
  // A request that is ended waits no more.
  if (this.writableEnded || !find(socket)) return
  socket.on('drain', onDrain)
  this.once('close', dropDrain)
}

/** @this {any} the request */
function dropDrain () {
  this.socket?.off('drain', onDrain)
}

/** For the requests to come. @param {any} socket that carries a request */
export function keepDrainOf (socket) {
  if (find(socket) && socket.listenerCount('drain', onDrain) < 2) socket.on('drain', onDrain)
}
