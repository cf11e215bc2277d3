/** The cause of one long wait, by the rule of spec/events.yaml, `causes`. It holds for HTTP/1.1 with one request in flight. */

/** @typedef {import('./kernel.js').Kernel} Kernel */
/** @typedef {'nagle_delayed_ack' | 'retransmit' | 'peer_window' | 'server'} Cause */

const LONG_NS = 20e6

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
