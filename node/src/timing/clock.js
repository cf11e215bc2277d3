/** The monotonic clock in whole nanoseconds: that of `process.hrtime()`, on Linux CLOCK_MONOTONIC. */

// Imported, because the global `process` is a getter that costs as much as reading the clock.
import { hrtime } from 'node:process'

// The function itself, because tests fake the class.
const { now } = Date

/** @internal @returns {number} integer ns */
export function nowNs () {
  const time = hrtime()
  return time[0] * 1e9 + time[1]
}

/** @internal @returns {number} the wall clock, ns since 1970, in whole ms */
export function unixNs () { return now() * 1e6 }
