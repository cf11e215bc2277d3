/**
 * What Linux counts for one socket (TCP_INFO).
 *
 * Node has no getsockopt of its own. TCP_INFO is read through `node:ffi` where the runtime has it (Node 26.1 and later;
 * it prints a warning that it is experimental), else by `ss` from iproute2: a child process that blocks this one.
 */

import { execFileSync } from 'node:child_process'
import { nowNs } from './clock.js'
import { kernelOf, tcpInfoReader } from './tcp-info.js'

/**
 * @typedef {object} Kernel what the kernel counts for the socket since it was opened
 * @property {number} segmentsOut data segments sent
 * @property {number} retransmits segments sent again
 * @property {number} rttUs smoothed round trip, µs
 * @property {number} [minRttUs] least round trip, µs
 * @property {number} rwndLimitedMs time in which the peer's window held data back, ms
 * @property {number} lastSentNs when data was last sent, ns of the monotonic clock, to about 5 ms (the kernel tells it in ms)
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
    throw noEvidence('the kernel is asked through `ss`: Linux with iproute2 is needed', error)
  }
  const readNs = (before + nowNs()) / 2
  const number = (/** @type {RegExp} */ pattern) => {
    const match = pattern.exec(text)
    return match === null ? undefined : Number(match[1])
  }
  const lastSentMs = number(/\blastsnd:(\d+)/)
  if (text.trim() === '') throw noEvidence(`no TCP connection from port ${socket.localPort} to port ${socket.remotePort}`)
  return {
    segmentsOut: number(/\bdata_segs_out:(\d+)/) ?? 0,
    retransmits: number(/\bretrans:\d+\/(\d+)/) ?? 0,
    rttUs: Math.round((number(/\brtt:([\d.]+)/) ?? 0) * 1000),
    minRttUs: scaled(number(/\bminrtt:([\d.]+)/)),
    rwndLimitedMs: number(/\brwnd_limited:(\d+)ms/) ?? 0,
    lastSentNs: Math.round(readNs - (lastSentMs ?? 0) * 1e6)
  }
}

/** @param {number | undefined} ms @returns {number | undefined} µs */
const scaled = (ms) => ms === undefined ? undefined : Math.round(ms * 1000)

/**
 * @param {string} message
 * @param {unknown} [cause]
 */
function noEvidence (message, cause) {
  return Object.assign(new Error(message, { cause }), { code: 'ONEWRITE_NO_EVIDENCE' })
}
