/**
 * TCP_NODELAY for every request of node:http and node:https, whoever makes it: axios, got, node-fetch, AWS SDKs.
 *
 * Node 20 and 22 never set it on the sockets of https (nodejs/node issue 62003), and no version sets it on connections
 * to a proxy from the environment. Node publishes each request on a diagnostics channel, so nothing is patched.
 * It cannot reach a TLS socket in a CONNECT tunnel of such a proxy, because the option belongs to the socket below it.
 */

import diagnosticsChannel from 'node:diagnostics_channel'
import { resolveConfig, setsNoDelay } from '../config.js'

/**
 * Node 22.12 and later publish a request here when it is made, before it has a socket. A later
 * `request.setNoDelay(false)` of the user takes effect.
 */
const CREATED = 'http.client.request.created'
/**
 * Node 20 publishes a request only here, when all of it has been passed to its socket. So there a body that is written
 * in several turns on a new connection has left before, and a `request.setNoDelay(false)` of the user is overruled.
 */
const START = 'http.client.request.start'
let guarding = false
/** This Node publishes on CREATED. */
let publishesCreated = false

function onCreated (message) {
  if (!publishesCreated) {
    publishesCreated = true
    diagnosticsChannel.unsubscribe(START, setNoDelay)
  }
  setNoDelay(message)
}

function setNoDelay (/** @type {any} */ { request }) {
  // An agent made with `noDelay: false` keeps Nagle's algorithm.
  if (request.agent?.options?.noDelay === false) return
  request.setNoDelay(true)
}

/**
 * Sets TCP_NODELAY on the socket of each request of node:http and node:https from now on, except for agents made with
 * `noDelay: false`. On Node 22.12 and later a `request.setNoDelay(false)` overrides it. With `ONEWRITE_DISABLED=true`,
 * `ONEWRITE_NODELAY_DISABLED=true` or `ONEWRITE_OBSERVE=true` it does nothing.
 * @returns {boolean} true while it is on
 */
export function guardNodeHttp () {
  if (!setsNoDelay(resolveConfig())) return false
  if (!guarding) {
    diagnosticsChannel.subscribe(CREATED, onCreated)
    if (!publishesCreated) diagnosticsChannel.subscribe(START, setNoDelay)
  }
  guarding = true
  return true
}

/** @returns {string} `on`, or why it is not */
export function guardStatus () {
  if (guarding) return 'on'
  const { disabled, nodelayDisabled, observe } = resolveConfig()
  if (disabled) return 'ONEWRITE_DISABLED is set'
  if (nodelayDisabled) return 'ONEWRITE_NODELAY_DISABLED is set'
  return observe ? 'ONEWRITE_OBSERVE is set' : 'not called'
}

/** Undoes `guardNodeHttp()`. Connections that have TCP_NODELAY keep it. */
export function unguardNodeHttp () {
  if (guarding) {
    diagnosticsChannel.unsubscribe(CREATED, onCreated)
    diagnosticsChannel.unsubscribe(START, setNoDelay)
  }
  guarding = false
}
