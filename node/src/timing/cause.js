/** Names the cause of a long wait by the rule `causes` of spec/events.yaml, for HTTP/1.1 with one request in flight. */

/** @typedef {import('./kernel.js').Kernel} Kernel */
/** @typedef {'nagle_delayed_ack' | 'retransmit' | 'peer_window' | 'server'} Cause */

const LONG_NS = 20e6

/**
 * The cause of one wait.
 *
 * Two facts cannot be read from the kernel here and come from the caller: the number of writes (`writes` of the event
 * `requestEnd`) and whether TCP_NODELAY was on. With it on, or with one write, Nagle's algorithm holds nothing, and bytes
 * that were held have no named cause (pacing, a queue, the network). The defaults are those under which Nagle can hold.
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
