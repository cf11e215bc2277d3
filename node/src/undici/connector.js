/**
 * Wraps the connector of a client, which is undici's or a user's function. Connecting itself stays with that function.
 */

import { mostHeld, setsNoDelay } from '../config.js'
import { setNoDelay } from '../patch.js'
import { Connection, connectionOf, detach } from '../timing/connection.js'
import { hooksOf } from '../timing/hooks.js'
import { giveBack, holdUnfinished } from '../wire/coalesce.js'

/**
 * The config of a client: the options, the hooks, and what only a client has.
 * @typedef {object} OfClient
 * @property {import('../timing/hooks.js').Hooks | null} hooks
 * @property {boolean} timed the clients take times; there may be hooks later
 * @property {boolean} noDelay false: the user asked for Nagle's algorithm
 * @property {Connecting} [connecting] of a proxy agent
 */
/** @typedef {import('../config.js').Config & OfClient} ClientConfig */
/**
 * The connection whose connector is running: in that call it requests its tunnel.
 * @typedef {{connection: Connection | null}} Connecting
 */
/**
 * The present socket of one client, its connection where there may be hooks, and the origin with which it was made.
 * @typedef {{socket: any, connection: Connection | null, origin: any}} Line
 */

/** @typedef {(options: any, callback: (error: Error | null, socket: any) => void) => any} Connector */

/** @param {Connector} base @param {ClientConfig} config @param {Line} line @returns {Connector} */
export function wrapConnector (base, config, line) {
  // Not an arrow function: undici calls it as a method of the client, and a user's own connector may use `this`.
  return /** @this {any} */ function connect (options, callback) {
    const { connecting, noDelay } = config
    const connection = config.timed ? connectionFor(options) : null
    // Hooks that are set later find the connection. It has carried the request for which it is made.
    if (connection !== null && hooksOf(config) === null) connection.requests = 1
    line.connection = connection
    if (connecting !== undefined) connecting.connection = connection
    let socket
    try {
      socket = base.call(this, options, (error, socket) => {
        if (error || !socket) connection?.failed(error)
        else {
          line.socket = socket
          if (setsNoDelay(config)) setNoDelay(socket, noDelay)
          // HTTP/2 frames its own writes.
          holdUnfinished(socket, socket.alpnProtocol === 'h2' ? 0 : mostHeld(config))
          connection?.opened()
          connection?.attach(socket)
        }
        callback(error, socket)
      })
    } finally {
      if (connecting !== undefined) connecting.connection = null
    }
    // undici's connector, as many others, returns the socket before it is connected. With TCP_NODELAY set before the
    // TLS handshake, the last message of the handshake does not hold back the request.
    if (setsNoDelay(config)) setNoDelay(socket, noDelay)
    if (connection !== null && !connection.ready) {
      if (socket?.connecting === true && typeof socket.once === 'function') connection.follow(socket)
      else connection.cannotFollow()
    }
    return socket
  }
}

/** @param {any} options of a connector */
function connectionFor ({ hostname, host, port, protocol, socketPath }) {
  const name = String(hostname ?? host ?? '')
  return new Connection(name, String(socketPath ?? peerOf({ protocol, hostname: name, port })), protocol === 'https:')
}

/** The client has left its socket: it is closed, upgraded, or carries a tunnel. @param {Line} line */
export function leaveSocket (line) {
  const { socket, connection } = line
  line.socket = line.connection = null
  if (socket === null) return
  giveBack(socket)
  if (connection !== null && connectionOf(socket) === connection) detach(socket)
}

/** @param {any} url its parts @returns {string} `host:port`, by default the port of the scheme */
export function peerOf ({ protocol, hostname, port }) {
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

/**
 * The origin of a Pool or Client, in any of the forms that undici takes (undici lib/core/util.js, parseURL).
 * @param {any} url that undici has accepted
 * @returns {string}
 */
export function originOf (url) {
  if (url instanceof URL) return url.origin
  const { protocol, hostname, port } = url
  const text = typeof url === 'string' ? url : url.origin ?? `${protocol}//${hostname}${port ? `:${port}` : ''}`
  return /^[^/]*\/\/[^/?#\\]+/.exec(text)?.[0] ?? new URL(text).origin
}
