/** TCP_NODELAY of a socket. Node has no getsockopt, so it cannot be read back. */

import { isUnixSocket } from '../patch.js'

/**
 * @internal
 * @param {any} socket a program's own, or a mock, may lack the method
 * @param {boolean} [wanted] false: the program asked for Nagle's algorithm
 */
export function setNoDelay (socket, wanted = true) {
  if (isUnixSocket(socket)) return
  try {
    socket?.setNoDelay?.(wanted)
  } catch {
    // A method of the program that throws must not end the process from an event.
  }
}
