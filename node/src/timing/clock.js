/** One monotonic clock in whole nanoseconds: that of `process.hrtime()`, on Linux CLOCK_MONOTONIC. */

// Imported, because the global `process` is a getter that costs as much as reading the clock.
import { hrtime } from 'node:process'

/** @returns {number} now, integer ns */
export function nowNs () {
  const time = hrtime()
  return time[0] * 1e9 + time[1]
}

/** The difference of wall clock and monotonic clock when the process started. */
const unixOffsetNs = (() => {
  let zeroNs = -Infinity
  // The time between the two readings makes the difference too small, so the greatest is the most exact.
  for (let round = 0; round < 32; round++) zeroNs = Math.max(zeroNs, nowNs() - performance.now() * 1e6)
  return performance.timeOrigin * 1e6 - zeroNs
})()

/**
 * @param {number} monoNs a time of `nowNs()`
 * @returns {number} the same on the wall clock, ns since 1970; exact to 256 ns, as far as a number reaches
 */
export function unixNs (monoNs) {
  return Math.round(unixOffsetNs + monoNs)
}
