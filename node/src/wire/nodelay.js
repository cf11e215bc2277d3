/** TCP_NODELAY on a connection of ours. Node has no getsockopt, so it cannot be read back. */

/**
 * @param {any} socket as a connector hands it over; a user's own or a mock one may lack the method
 * @param {import('../config.js').Config} config
 * @param {boolean} wanted false: the user asked for Nagle, and is obeyed
 */
export function setNoDelay (socket, config, wanted) {
  if (!config.nodelayDisabled) socket.setNoDelay?.(wanted)
}
