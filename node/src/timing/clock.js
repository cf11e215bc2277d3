/** The monotonic clock in whole nanoseconds: that of `process.hrtime()`, on Linux CLOCK_MONOTONIC. */

// Imported, because the global `process` is a getter that costs as much as reading the clock.
import { hrtime } from 'node:process'

/** The wall clock in ms since 1970. The function itself, because tests fake the class. @internal */
export const { now: unixMs } = Date

/** @internal @returns {number} integer ns */
export function nowNs () {
  const time = hrtime()
  return time[0] * 1e9 + time[1]
}
