/** The open connections of this process that have a listener of ours. They are counted when a reader asks for the metric. */

import { nowNs } from '../timing/clock.js'

/** @typedef {import('../timing/connection.js').Connection} Connection */

/** Each with the time from which it could carry requests. @type {Map<Connection, number>} */
const open = new Map()
/** A server stays in the metric, with 0 connections: without that a reader would keep its last number. @type {Map<string, Server>} */
const servers = new Map()

/** @typedef {Record<string, string | number>} Server its attributes */

/** @param {Connection} connection @returns {Server} */
export function serverOf ({ host, port }) {
  const key = `${host} ${port}`
  let server = servers.get(key)
  if (server === undefined) {
    server = port === undefined ? { 'server.address': host } : { 'server.address': host, 'server.port': port }
    servers.set(key, server)
  }
  return server
}

/** @param {Connection} connection that can carry requests */
export function connectionOpened (connection) {
  open.set(connection, nowNs())
  serverOf(connection)
}

/** @param {Connection} connection @returns {number | undefined} seconds for which it was open */
export function connectionClosed (connection) {
  const since = open.get(connection)
  if (!open.delete(connection) || since === undefined) return undefined
  return (nowNs() - since) / 1e9
}

/** @param {import('@opentelemetry/api').ObservableResult} result */
export function observeConnections (result) {
  /** @type {Map<Server, {active: number, idle: number}>} */
  const counts = new Map()
  for (const server of servers.values()) counts.set(server, { active: 0, idle: 0 })
  for (const connection of open.keys()) {
    const count = counts.get(serverOf(connection))
    if (count !== undefined) count[connection.active > 0 ? 'active' : 'idle']++
  }
  for (const [server, { active, idle }] of counts) {
    result.observe(active, { ...server, 'http.connection.state': 'active' })
    result.observe(idle, { ...server, 'http.connection.state': 'idle' })
  }
}
