/**
 * One monotonic clock in whole nanoseconds: that of `process.hrtime()`, on Linux CLOCK_MONOTONIC.
 * `performance.now()` is the same clock with another zero and the cheapest way to read it, so its offset is taken once.
 */

const offsetNs = (() => {
  let best = -Infinity
  // What passes between the two readings makes the difference too small, so the greatest is the nearest.
  for (let round = 0; round < 32; round++) best = Math.max(best, Number(process.hrtime.bigint()) - performance.now() * 1e6)
  return best
})()

/** From the monotonic clock to the wall clock, as it was when the process started. */
const unixOffsetNs = performance.timeOrigin * 1e6 - offsetNs

/** @returns {number} now, integer ns */
export function nowNs () {
  return Math.round(offsetNs + performance.now() * 1e6)
}

/**
 * @param {number} monoNs a time of `nowNs()`
 * @returns {number} the same on the wall clock, ns since 1970; exact to 256 ns, as far as a number reaches
 */
export function unixNs (monoNs) {
  return Math.round(unixOffsetNs + monoNs)
}
