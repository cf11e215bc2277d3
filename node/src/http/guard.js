/**
 * TCP_NODELAY for every request of node:http and node:https, whoever makes it: axios, got, node-fetch, AWS SDKs.
 *
 * Node 20 and 22 never set it on the sockets of https (nodejs/node issue 62003), and no version sets it on connections
 * to a proxy from the environment. Node publishes each request on a diagnostics channel, so nothing is patched.
 * It cannot reach a TLS socket in a CONNECT tunnel of such a proxy, because the option belongs to the socket below it.
 */

import diagnosticsChannel from 'node:diagnostics_channel'
import { readOptions } from '../config.js'
import { setNoDelay } from '../wire/nodelay.js'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
/**
 * From Node 22.12 on a request is published when it is made, so a later `request.setNoDelay(false)` takes effect.
 * Before, it is published when all of it has been passed to its socket.
 */
const CHANNEL = `http.client.request.${major > 22 || (major === 22 && minor >= 12) ? 'created' : 'start'}`
let guarding = false

/** @param {any} socket of a request */
function onSocket (socket) { setNoDelay(socket) }

/** @param {any} message of the channel; its request may be one of a mock */
function onRequest ({ request }) {
  // An agent made with `noDelay: false` keeps Nagle's algorithm.
  if (request?.agent?.options?.noDelay === false) return
  if (request?.socket) setNoDelay(request.socket)
  else if (typeof request?.once === 'function') request.once('socket', onSocket)
}

/**
 * Sets TCP_NODELAY on the socket of each request of node:http and node:https from now on, except for agents made with
 * `noDelay: false`. On Node 22.12 and later a `request.setNoDelay(false)` overrides it. With `ONEWRITE_DISABLED=true`
 * or `ONEWRITE_OBSERVE=true` it does nothing.
 * @returns {boolean} true while it is on
 */
export function guardNodeHttp () {
  const { disabled, observe } = readOptions()
  if (disabled || observe) return false
  if (!guarding) diagnosticsChannel.subscribe(CHANNEL, onRequest)
  guarding = true
  return true
}

/** @internal @returns {boolean} */
export function isGuarding () { return guarding }

/** Undoes `guardNodeHttp()`. Connections that have TCP_NODELAY keep it. */
export function unguardNodeHttp () {
  if (guarding) diagnosticsChannel.unsubscribe(CHANNEL, onRequest)
  guarding = false
}
