/**
 * undici's Client, which is one connection to one origin. The functions for undici's documented option `factory` are
 * here. They make clients with the same options and a wrapped connector, and pools of them.
 */

import * as undici from 'undici'
import { isBaseSupported, kConnector, kDispatch } from '../base-version.js'
import { kHooks, readOptions } from '../config.js'
import { hide } from '../patch.js'
import { Connection } from '../timing/connection.js'
import * as hooks from '../timing/hooks.js'
import { holdWrites, unholdWrites } from '../wire/coalesce.js'
import { setNoDelay } from '../wire/nodelay.js'
import { Handler, handlerFor, kConnection, peerOf } from './handlers.js'

/** @typedef {import('../config.js').Options} Options */
/**
 * @typedef {object} OfClient
 * @property {boolean} noDelay false: the program asked for Nagle's algorithm
 * @property {boolean} timed there may be hooks
 */
/** @typedef {import('../config.js').Config & OfClient} ClientConfig */
/** @typedef {(options: any, callback: (error: any, socket: any) => void) => any} Connector */
/** @typedef {(origin: any, options: any) => any} Factory */

/** On a client: its socket. */
const kSocket = Symbol('onewrite socket')
/** On a pool or client: where a request begins. Hidden: programs get clients by the event 'connect'. */
const kOrigin = Symbol('onewrite origin')
/** @internal */
export const kConfig = Symbol('onewrite config')

/**
 * Beside an undici that lacks a class, importing this package is no error.
 * @internal
 * @param {any} Class @returns {any}
 */
export const orEmpty = (Class) => Class ?? class {}

/** The connection whose connector is running: in that call it asks for its tunnel. @type {Connection | null} */
let connecting = null

/** A client without hooks. @type {any} */
const WiredClient = class extends orEmpty(undici.Client) {
  /** @param {any} origin @param {any} options @param {ClientConfig} config */
  constructor (origin, options, config) {
    super(origin, options)
    const own = /** @type {any} */ (this)
    hide(own, kSocket, null)
    hide(own, kConnection, null)
    // The private property has undici's own function, or the program's.
    own[kConnector] = wrapConnector(own[kConnector], own, config)
    // undici emits it before it passes the socket of an upgrade or a tunnel on.
    own.on('disconnect', onDisconnect)
  }
}

/** @this {any} */
function onDisconnect () {
  if (this[kSocket] !== null) unholdWrites(this[kSocket])
  this[kSocket] = null
}

/** A client that sets itself as the client of each exchange that it carries. @type {any} */
const TimedClient = class extends WiredClient {
  /** @param {any} opts @param {any} handler */
  [kDispatch] (/** @type {any} */ opts, /** @type {any} */ handler) {
    if (handler instanceof Handler) handler.setClient(this)
    return super[kDispatch](opts, handler)
  }
}

/**
 * Requests begin in a pool, where they wait for a client, or in a client without a pool. Only undici's private method
 * gets handlers of one style: `dispatch` gets those of both, and undici 7 hides one of ours in one of its own.
 * @internal
 * @param {any} Base
 */
export const withRecords = (Base) => /** @type {any} */ (class extends Base {
  [kDispatch] (/** @type {any} */ opts, /** @type {any} */ handler) {
    const { [kConfig]: config, [kOrigin]: origin } = /** @type {any} */ (this)
    if (config === undefined || config.hooks.length === 0 || hooks.isHookRunning) return super[kDispatch](opts, handler)
    const exchange = handlerFor(config.hooks, opts, handler, origin)
    if (exchange === null) return super[kDispatch](opts, handler)
    try {
      return super[kDispatch](opts, exchange)
    } catch (error) {
      // The program gets the error from undici.
      exchange.failed(error, false)
      throw error
    }
  }
})

/** A client without a pool. */
const LoneClient = withRecords(TimedClient)
/** @internal */
export const TimedPool = withRecords(orEmpty(undici.Pool))

/**
 * @internal
 * @param {any} dispatcher in which requests begin, just made
 * @param {ClientConfig} config
 * @param {any} origin that undici has accepted
 */
export function setUp (dispatcher, config, origin) {
  hide(dispatcher, kConfig, config)
  hide(dispatcher, kOrigin, originOf(origin))
}

/** @param {any} origin in a form that undici takes (undici lib/core/util.js, parseURL) @returns {string} */
function originOf (origin) {
  if (origin instanceof URL) return origin.origin
  const { protocol, hostname, port } = origin
  const host = port ? `${hostname}:${port}` : hostname
  const text = typeof origin === 'string' ? origin : origin.origin ?? `${protocol}//${host}`
  return /^[^/]*\/\/[^/?#\\]+/.exec(text)?.[0] ?? text
}

/** @param {Connector} base @param {any} client @param {ClientConfig} config @returns {Connector} */
function wrapConnector (base, client, config) {
  const { noDelay, observe, timed } = config
  // Not an arrow function: undici calls it as a method of the client, and a program's own connector may use `this`.
  return /** @this {any} */ function connect (options, callback) {
    const { hostname, host, protocol } = options
    const connection = timed ? new Connection(String(hostname ?? host ?? ''), protocol === 'https:') : null
    const before = connecting
    client[kConnection] = connecting = connection
    let socket
    try {
      socket = base.call(this, options, (error, socket) => {
        if (!error && socket) {
          client[kSocket] = socket
          if (!observe) setNoDelay(socket, noDelay)
          // HTTP/2 frames its own writes.
          if (!observe && socket.alpnProtocol !== 'h2') holdWrites(socket)
          connection?.opened(socket)
        }
        callback(error, socket)
      })
    } finally {
      connecting = before
    }
    // Most connectors return the socket before it is connected. With TCP_NODELAY set before the TLS handshake, the last
    // message of the handshake does not hold back the request.
    if (!observe) setNoDelay(socket, noDelay)
    if (connection !== null && !connection.ready) connection.follow(socket)
    return socket
  }
}

/**
 * Connections to a proxy, on which tunnels are asked for. The connection that asks learns which proxy it is, and when
 * the tunnel is open: then its TLS begins.
 * @internal
 */
export class TunnelPool extends orEmpty(undici.Pool) {
  /** @param {any} origin @param {any} options @param {ClientConfig} config */
  constructor (origin, options, config) {
    super(origin, { ...options, factory: clientFactoryFor({ ...config, hooks: [], timed: false }) })
    hide(this, kOrigin, originOf(origin))
  }

  /** @param {any} params @param {any} [callback] */
  connect (params, callback) {
    const connection = connecting
    if (callback !== undefined || connection === null) return super.connect(params, callback)
    connection.proxy = peerOf(new URL(/** @type {any} */ (this)[kOrigin]))
    return super.connect(params).then((/** @type {any} */ data) => {
      if (data.statusCode === 200) connection.connected()
      return data
    })
  }
}

/**
 * @internal
 * @param {ClientConfig} config
 * @returns {Factory} of the clients of a pool
 */
export function clientFactoryFor (config) {
  const Class = config.timed ? TimedClient : WiredClient
  return (origin, options) => new Class(origin, options, config)
}

/**
 * @internal
 * @param {ClientConfig} config
 * @returns {Factory} of what an Agent makes for an origin: a pool, or for `connections: 1` a client, as undici does
 */
export function factoryFor (config) {
  return (origin, options) => {
    const isLone = options?.connections === 1
    if (!config.timed) {
      return isLone
        ? new WiredClient(origin, options, config)
        : new undici.Pool(origin, { ...options, factory: clientFactoryFor(config) })
    }
    const dispatcher = isLone
      ? new LoneClient(origin, options, config)
      : new TimedPool(origin, { ...options, factory: clientFactoryFor(config) })
    setUp(dispatcher, config, origin)
    return dispatcher
  }
}

/**
 * @internal
 * @param {any} options of a dispatcher of ours
 * @param {any} [connect] its options of the connector
 * @returns {ClientConfig & {stock: boolean}} `stock`: nothing is to be changed
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function configOf (options, connect) {
  const config = readOptions(options)
  const timed = !config.disabled && (config.hooks.length > 0 || options[kHooks] !== undefined)
  const stock = config.disabled || !isBaseSupported() || (config.observe && !timed)
  return { ...config, timed, noDelay: connect?.noDelay !== false, stock }
}

/**
 * A factory of clients for a dispatcher of undici that makes its own: `new BalancedPool(urls, { factory: (origin,
 * options) => new Pool(origin, { ...options, factory: clientFactory() }) })`.
 * @param {Options} [options] A hook gets a record of each request, timed from when the dispatcher passes it to a
 *   client: time in the dispatcher's own queue is not in the record.
 * @returns {(origin: string | URL, options: object) => import('undici').Dispatcher}
 * @throws {TypeError} code `ONEWRITE_INVALID_OPTION`
 */
export function clientFactory (options = {}) {
  const config = configOf(options)
  if (config.stock) return (origin, options) => new undici.Client(origin, options)
  const make = factoryFor(config)
  return (origin, options) => make(origin, { ...options, connections: 1 })
}
