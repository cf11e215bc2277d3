/** Sets TCP_NODELAY. Node has no getsockopt, so it cannot be read back. */

import { setsNoDelay } from '../config.js'

/**
 * @param {any} socket from a connector; a user's own, or a mock, may lack the method
 * @param {import('../config.js').Config} config
 * @param {boolean} wanted false: the user asked for Nagle's algorithm
 */
export function setNoDelay (socket, config, wanted) {
  if (setsNoDelay(config) && typeof socket?.setNoDelay === 'function') socket.setNoDelay(wanted)
}
