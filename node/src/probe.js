/**
 * A debugging aid, not for production: names the cause of one long wait from what Linux knows of the socket.
 *
 * Node has no getsockopt of its own. TCP_INFO is read through `node:ffi` where the runtime has it (Node 26.1 and later;
 * it prints a warning that it is experimental), else by `ss` from iproute2: a child process that blocks this one.
 * The rule is that of spec/events.yaml, `causes`. It holds for HTTP/1.1 with one request in flight on the connection.
 */

import { execFileSync } from 'node:child_process'
import { nowNs } from './clock.js'
import { kernelOf, tcpInfoReader } from './tcp-info.js'

const LONG_NS = 20e6

/**
 * @typedef {object} Kernel what the kernel counts for the socket since it was opened
 * @property {number} segmentsOut data segments sent
 * @property {number} retransmits segments sent again
 * @property {number} rttUs smoothed round trip, µs
 * @property {number} [minRttUs] least round trip, µs
 * @property {number} rwndLimitedMs time in which the peer's window held data back, ms
 * @property {number} lastSentNs when data was last sent, ns of the monotonic clock, to about 5 ms (the kernel tells it in ms)
 */

/** @typedef {'nagle_delayed_ack' | 'retransmit' | 'peer_window' | 'server'} Cause */

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

/**
 * The cause of one wait.
 *
 * The kernel does not tell all of it to this process: whoever asks says in how many writes the request went (`writes` of
 * the event `requestEnd`) and whether TCP_NODELAY was on. With it on, or in one write, nothing is held by Nagle, and what
 * was held all the same has no cause (pacing, a queue, the network). What is left out is taken for what Nagle needs.
 * @param {Kernel} before read before the request
 * @param {Kernel} after read as soon as the response has begun, before anything else is sent on the connection
 * @param {{requestEndNs: number, responseStartNs: number, writes?: number, nodelay?: boolean}} request times of the events
 *   `requestEnd` and `responseStart`, ns
 * @returns {{cause: Cause | undefined, sendHoldNs: number, segmentsOut: number, retransmits: number}}
 *   no cause for a wait below 20 ms
 */
export function explainWait (before, after, { requestEndNs, responseStartNs, writes = 2, nodelay = false }) {
  const sendHoldNs = Math.max(0, Math.min(after.lastSentNs, responseStartNs) - requestEndNs)
  const segmentsOut = after.segmentsOut - before.segmentsOut
  const retransmits = after.retransmits - before.retransmits
  /** @type {Cause | undefined} */
  let cause
  if (responseStartNs - requestEndNs >= LONG_NS) {
    if (sendHoldNs < LONG_NS) cause = 'server'
    // The window first: before a closed one the kernel sends probes, which count as segments sent again.
    else if ((after.rwndLimitedMs - before.rwndLimitedMs) * 1e6 > sendHoldNs / 2) cause = 'peer_window'
    else if (retransmits > 0) cause = 'retransmit'
    else if (writes > 1 && !nodelay) cause = 'nagle_delayed_ack'
  }
  return { cause, sendHoldNs, segmentsOut, retransmits }
}
