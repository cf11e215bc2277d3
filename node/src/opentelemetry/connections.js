/** The open connections of this process that have a listener of ours: looked up when a reader asks, never added up. */

import { nowNs } from '../timing/clock.js'

/** @typedef {import('../timing/connection.js').Connection} Connection */

/** Each with the time at which it was ready for requests. @type {Map<Connection, number>} */
const open = new Map()
/** Servers that were told of once go on being told of, with 0: else a reader keeps the last number. @type {Map<string, Server>} */
const servers = new Map()

/** @typedef {Record<string, string | number>} Server attributes of it */

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

/** @param {Connection} connection that is ready for requests */
export function connectionOpened (connection) {
  open.set(connection, nowNs())
  serverOf(connection)
}

/** @param {Connection} connection @returns {number | undefined} seconds for which it was there */
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
