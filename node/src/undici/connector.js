/** Wraps a connector: undici's own finished one, or a user's function. Nothing of connecting is done here. */

import { Connection } from '../timing/connection.js'
import { holdUnfinished } from '../wire/coalesce.js'
import { setNoDelay } from '../wire/nodelay.js'
import { undiciFraming } from './framing.js'

/**
 * What is done to each socket of a client.
 * @typedef {object} Settings
 * @property {import('../config.js').Config} config
 * @property {import('../timing/hooks.js').Hooks | null} hooks
 */

/** @typedef {(options: any, callback: (error: Error | null, socket: any) => void) => any} Connector */

/**
 * The connection whose connector is being called: a connector that goes through a proxy asks for its tunnel in there.
 * @type {{connection: Connection | null}}
 */
export const connecting = { connection: null }

/**
 * @param {Connector} connect
 * @param {Settings} settings
 * @param {boolean} noDelay what the user asked for; undici's connector sets TCP_NODELAY in any case
 * @param {{connection: Connection | null}} slot told of each connection that is begun
 * @returns {Connector}
 */
export function wrapConnector (connect, { config, hooks }, noDelay, slot) {
  if (config.disabled) return connect
  // A plain function: undici calls it as a method of the client, and a user's own may look at `this`.
  return /** @this {any} */ function (options, callback) {
    const secure = options.protocol === 'https:'
    const connection = hooks === null ? null : (slot.connection = new Connection(options.hostname ?? options.host, secure, Number(options.port) || (secure ? 443 : 80), hooks))
    const outer = connecting.connection
    connecting.connection = connection
    let socket
    try {
      socket = connect.call(this, options, (error, socket) => {
        if (error || !socket) {
          connection?.failed(error)
          return callback(error, socket)
        }
        prepare(socket, config, noDelay)
        connection?.ready()
        connection?.attach(socket)
        callback(null, socket)
      })
    } finally {
      connecting.connection = outer
    }
    // undici's connector and many of users' own return the socket at once: with TCP_NODELAY set before the TLS
    // handshake its last message does not hold the request back either.
    if (typeof socket?.setNoDelay === 'function') setNoDelay(socket, config, noDelay)
    if (connection !== null) {
      if (socket?.connecting === true && typeof socket.once === 'function') connection.follow(socket)
      else connection.cannotFollow()
    }
    return socket
  }
}

/**
 * @param {any} socket
 * @param {import('../config.js').Config} config
 * @param {boolean} noDelay
 */
function prepare (socket, config, noDelay) {
  setNoDelay(socket, config, noDelay)
  // HTTP/2 frames its own writes.
  holdUnfinished(socket, config.coalesceDisabled || socket.alpnProtocol === 'h2' ? 0 : config.coalesceMax, undiciFraming)
}
