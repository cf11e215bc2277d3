/**
 * TCP_NODELAY for every request of node:http and node:https, whoever makes it: axios, got, node-fetch, AWS SDKs.
 *
 * Node 20 and 22 never set it on the sockets of https (nodejs/node issue 62003), no version sets it on the sockets of
 * its environment proxy. The runtime's own diagnostics channels name each request; nothing is patched.
 * It cannot reach the TLS-over-CONNECT socket of the environment proxy: there the option belongs to a socket below.
 */

import diagnosticsChannel from 'node:diagnostics_channel'
import { resolveConfig } from '../config.js'

/**
 * Node 22.12 and later name a request when it is made, before it has a socket: what the user says later with
 * `request.setNoDelay(false)` is the last word.
 */
const CREATED = 'http.client.request.created'
/**
 * Node 20 names it when it is handed to its socket whole. So there a body that is written in several turns on a fresh
 * connection has left before, and a word of the user's is overruled.
 */
const START = 'http.client.request.start'
let guarding = false
/** This Node names requests when they are made. */
let namesEarly = false

/** @param {any} message */
function onCreated (message) {
  if (!namesEarly) {
    namesEarly = true
    diagnosticsChannel.unsubscribe(START, onStart)
  }
  setNoDelay(message)
}

/** @param {any} message */
function onStart (message) { setNoDelay(message) }

/** @param {any} message */
function setNoDelay ({ request }) {
  // A user who asked an agent for Nagle gets it.
  if (request.agent?.options?.noDelay !== false) request.setNoDelay(true)
}

/**
 * Sets TCP_NODELAY on the socket of each request of node:http and node:https from now on, but for agents made with
 * `noDelay: false`. A `request.setNoDelay(false)` is the last word on Node 22.12 and later. With `ONEWRITE_DISABLED=true`
 * or `ONEWRITE_NODELAY_DISABLED=true` it does nothing.
 * @returns {boolean} true while it is on
 */
export function guardNodeHttp () {
  const { disabled, nodelayDisabled } = resolveConfig()
  if (disabled || nodelayDisabled) return false
  if (!guarding) {
    diagnosticsChannel.subscribe(CREATED, onCreated)
    if (!namesEarly) diagnosticsChannel.subscribe(START, onStart)
  }
  guarding = true
  return true
}

/** @returns {string} `on`, or why it is not */
export function guardStatus () {
  if (guarding) return 'on'
  const { disabled, nodelayDisabled } = resolveConfig()
  return disabled ? 'ONEWRITE_DISABLED is set' : nodelayDisabled ? 'ONEWRITE_NODELAY_DISABLED is set' : 'not asked for'
}

/** Undoes `guardNodeHttp()`. Connections that have the option keep it. */
export function unguardNodeHttp () {
  if (guarding) {
    diagnosticsChannel.unsubscribe(CREATED, onCreated)
    diagnosticsChannel.unsubscribe(START, onStart)
  }
  guarding = false
}
