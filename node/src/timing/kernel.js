/**
 * Reads what Linux counts for one socket (TCP_INFO).
 *
 * Node has no getsockopt. Where it has `node:ffi` (26.1 and later; it prints a warning that it is experimental), TCP_INFO
 * is read through that, else by `ss` from iproute2: a child process, for which this process waits.
 */

import { execFileSync } from 'node:child_process'
import { nowNs } from './clock.js'
import { kernelOf, tcpInfoReader } from './tcp-info.js'

/**
 * @typedef {object} Kernel counts since the socket was opened
 * @property {number} segmentsOut data segments sent
 * @property {number} retransmits segments sent again
 * @property {number} rttUs smoothed round trip, µs
 * @property {number} [minRttUs] least round trip, µs
 * @property {number} rwndLimitedMs time for which the peer's window held data back, ms
 * @property {number} lastSentNs when data was last sent, ns of the monotonic clock, exact to about 5 ms (the kernel gives ms)
 */

/**
 * @param {import('node:net').Socket} socket a TCP socket of this process
 * @returns {Kernel}
 * @throws {Error} code `ONEWRITE_NO_EVIDENCE`: not Linux, neither `node:ffi` nor `ss`, or no such connection
 */
export function readKernel (socket) {
  const fd = /** @type {any} */ (socket)._handle?.fd
  const info = fd >= 0 ? tcpInfoReader()?.(fd) : undefined
  return info ? kernelOf(info, nowNs()) : readBySs(socket)
}

/**
 * @param {import('node:net').Socket} socket
 * @returns {Kernel}
 */
export function readBySs (socket) {
  const filter = `sport = :${socket.localPort} and dport = :${socket.remotePort}`
  let text
  const before = nowNs()
  try {
    text = execFileSync('ss', ['-tinH', filter], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch (error) {
    throw noEvidence('TCP_INFO could not be read by `ss`: Linux with iproute2 is needed', error)
  }
  const readNs = (before + nowNs()) / 2
  const number = (/** @type {RegExp} */ pattern) => {
    const match = pattern.exec(text)
    return match === null ? undefined : Number(match[1])
  }
  const minRttMs = number(/\bminrtt:([\d.]+)/)
  if (text.trim() === '') throw noEvidence(`no TCP connection from port ${socket.localPort} to port ${socket.remotePort}`)
  return {
    segmentsOut: number(/\bdata_segs_out:(\d+)/) ?? 0,
    retransmits: number(/\bretrans:\d+\/(\d+)/) ?? 0,
    rttUs: Math.round((number(/\brtt:([\d.]+)/) ?? 0) * 1000),
    minRttUs: minRttMs === undefined ? undefined : Math.round(minRttMs * 1000),
    rwndLimitedMs: number(/\brwnd_limited:(\d+)ms/) ?? 0,
    lastSentNs: Math.round(readNs - (number(/\blastsnd:(\d+)/) ?? 0) * 1e6)
  }
}

/**
 * @param {string} message
 * @param {unknown} [cause]
 */
function noEvidence (message, cause) {
  return Object.assign(new Error(message, { cause }), { code: 'ONEWRITE_NO_EVIDENCE' })
}
