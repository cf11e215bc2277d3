/** Wraps a connector, which is undici's own or a user's function. Connecting itself stays with that function. */

import { Connection } from '../timing/connection.js'
import { holdUnfinished } from '../wire/coalesce.js'
import { setNoDelay } from '../wire/nodelay.js'

/**
 * The config of a client: the options, the hooks, and what only a client has.
 * @typedef {object} OfClient
 * @property {import('../timing/hooks.js').Hooks | null} hooks
 * @property {{connection: Connection | null}} [connecting] of a proxy agent: the connection whose connector is running,
 *   in which call it requests its tunnel
 * @property {boolean} timed the clients take times; there may be hooks later
 */
/** @typedef {import('../config.js').Config & OfClient} ClientConfig */

/** @typedef {(options: any, callback: (error: Error | null, socket: any) => void) => any} Connector */

/**
 * @param {Connector} connect
 * @param {ClientConfig} config
 * @param {boolean} noDelay what the user asked for; undici's connector sets TCP_NODELAY in any case
 * @param {{connection: Connection | null}} slot gets each connection when it begins
 * @returns {Connector}
 */
export function wrapConnector (connect, config, noDelay, slot) {
  if (config.disabled) return connect
  // Not an arrow function: undici calls it as a method of the client, and a user's own connector may use `this`.
  return /** @this {any} */ function (options, callback) {
    const { hooks } = config
    const secure = options.protocol === 'https:'
    const connection = hooks === null ? null : (slot.connection = new Connection(options.hostname ?? options.host, secure, Number(options.port) || (secure ? 443 : 80), hooks))
    const { connecting } = config
    if (connecting !== undefined) connecting.connection = connection
    let socket
    try {
      socket = connect.call(this, options, (error, socket) => {
        if (error || !socket) {
          connection?.failed(error)
          return callback(error, socket)
        }
        setNoDelay(socket, config, noDelay)
        // HTTP/2 frames its own writes.
        holdUnfinished(socket, config.coalesceDisabled || socket.alpnProtocol === 'h2' ? 0 : config.coalesceMax)
        connection?.ready()
        connection?.attach(socket)
        callback(null, socket)
      })
    } finally {
      if (connecting !== undefined) connecting.connection = null
    }
    // undici's connector, as many others, returns the socket before it is connected. With TCP_NODELAY set before the TLS
    // handshake, the last message of the handshake does not hold back the request.
    setNoDelay(socket, config, noDelay)
    if (connection !== null) {
      if (socket?.connecting === true && typeof socket.once === 'function') connection.follow(socket)
      else connection.cannotFollow()
    }
    return socket
  }
}
