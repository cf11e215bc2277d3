// Translates the options of `open` to those of undici and node:http.

import { readFileSync } from 'node:fs'
import net from 'node:net'
import tls from 'node:tls'
import { Skipped } from './skipped.js'

const SOCKET_OPTIONS = { TCP_NODELAY: 'noDelay', SO_KEEPALIVE: 'keepAlive' }

function socketOptions (options) {
  const result = {}
  for (const { name, value } of options.socket_options ?? []) {
    if (!Object.hasOwn(SOCKET_OPTIONS, name)) throw new Skipped(`Node has no socket option ${name}`)
    result[SOCKET_OPTIONS[name]] = value !== 0 && value !== false
  }
  return result
}

/** Options of undici's Agent. */
export function undiciOptions (options) {
  const ca = options.tls_ca ? readFileSync(options.tls_ca) : undefined
  const connect = {
    ...(ca ? { ca } : null),
    ...(options.connect_timeout_ms ? { timeout: options.connect_timeout_ms } : null),
    ...socketOptions(options)
  }
  return {
    connections: options.pool_size,
    // In undici pipelining 0 switches keep-alive off.
    ...(options.keepalive ? null : { pipelining: 0 }),
    connect: options.custom_connector ? plainConnector(ca) : connect
  }
}

/** Options of undici's ProxyAgent: forward for http, CONNECT for https. */
export function undiciProxyOptions (options) {
  if (options.custom_connector) throw new Skipped("undici's ProxyAgent takes no connector")
  const { connect, ...rest } = undiciOptions(options)
  const { ca, ...socket } = /** @type {any} */ (connect)
  return { ...rest, uri: options.proxy, proxyTunnel: false, proxyTls: socket, ...(ca ? { requestTls: { ca } } : null) }
}

// A custom connector as users write it: opens a socket and sets no options.
function plainConnector (ca) {
  return ({ hostname, port, protocol, servername }, callback) => {
    const secure = protocol === 'https:'
    const socket = secure
      ? tls.connect({ host: hostname, port: Number(port || 443), servername: servername ?? (net.isIP(hostname) ? undefined : hostname), ca })
      : net.connect({ host: hostname, port: Number(port || 80) })
    socket.once('error', callback)
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      socket.off('error', callback)
      callback(null, socket)
    })
  }
}

/** Options of http.Agent and https.Agent. */
export function httpOptions (options) {
  if (options.socket_options?.some(({ name }) => name === 'SO_KEEPALIVE')) throw new Skipped('keepAlive of http.Agent is the reuse of connections')
  return {
    keepAlive: options.keepalive,
    maxSockets: options.pool_size,
    ...(options.tls_ca ? { ca: readFileSync(options.tls_ca) } : null),
    ...socketOptions(options)
  }
}

/** The base library's own retry and redirect interceptors around a dispatcher. */
export function composeUndici (undici, dispatcher, options) {
  const interceptors = []
  if (options.retries) {
    interceptors.push(undici.interceptors.retry({
      maxRetries: options.retries, minTimeout: 10, methods: ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE', 'POST'], throwOnError: false
    }))
  }
  if (options.redirects) interceptors.push(undici.interceptors.redirect({ maxRedirections: 5 }))
  return interceptors.length > 0 ? dispatcher.compose(...interceptors) : dispatcher
}
