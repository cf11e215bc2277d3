import { syncBuiltinESMExports } from 'node:module'

/**
 * Counts how often the package reads the clock: through `hrtime` alone (src/timing/clock.js).
 * @param {(reads: () => number) => Promise<void>} run gets the count so far
 */
export async function countingClockReads (run) {
  const { hrtime } = process
  let count = 0
  process.hrtime = Object.assign((...args) => { count++; return hrtime(...args) }, hrtime)
  syncBuiltinESMExports()
  try {
    await run(() => count)
  } finally {
    process.hrtime = hrtime
    syncBuiltinESMExports()
  }
}
