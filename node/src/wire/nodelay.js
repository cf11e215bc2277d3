/** Sets TCP_NODELAY. Node has no getsockopt, so it cannot be read back. */

/** @param {any} socket a program's own, or a mock, may lack the method @param {boolean} [wanted] */
export function setNoDelay (socket, wanted = true) {
  try {
    socket?.setNoDelay?.(wanted)
  } catch {
    // A method of the program that throws must not end the process from an event.
  }
}
