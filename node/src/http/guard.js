/**
 * TCP_NODELAY for every request of node:http and node:https, whoever makes it: axios, got, node-fetch, AWS SDKs.
 *
 * Node 20 and 22 never set it on the sockets of https (nodejs/node issue 62003), no version sets it on the sockets of
 * its environment proxy. The runtime's own diagnostics channel names each request when it starts; nothing is patched.
 * It cannot reach the TLS-over-CONNECT socket of the environment proxy: there the option belongs to a socket below.
 */

import diagnosticsChannel from 'node:diagnostics_channel'
import { resolveConfig } from '../config.js'

const CHANNEL = 'http.client.request.start'
let guarding = false

/** @param {any} message */
function onRequestStart ({ request }) {
  // A user who asked an agent for Nagle gets it.
  if (request.agent?.options?.noDelay !== false) request.setNoDelay(true)
}

/**
 * Sets TCP_NODELAY on the socket of each request of node:http and node:https from now on, but for agents made with
 * `noDelay: false`. With `ONEWRITE_DISABLED=true` or `ONEWRITE_NODELAY_DISABLED=true` it does nothing.
 * @returns {boolean} true while it is on
 */
export function guardNodeHttp () {
  const { disabled, nodelayDisabled } = resolveConfig()
  if (disabled || nodelayDisabled) return false
  if (!guarding) diagnosticsChannel.subscribe(CHANNEL, onRequestStart)
  guarding = true
  return true
}

/** Undoes `guardNodeHttp()`. Connections that have the option keep it. */
export function unguardNodeHttp () {
  if (guarding) diagnosticsChannel.unsubscribe(CHANNEL, onRequestStart)
  guarding = false
}
