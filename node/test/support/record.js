/** Collects records; last() waits for the first since clear(). */
export function recorder () {
  /** @type {any[]} */
  const records = []
  return {
    records,
    hooks: { onTiming: (/** @type {any} */ record) => { records.push(record) } },
    /** Names of the events of the last record. */
    names: () => records.at(-1).events.map(([name]) => name),
    async last (count = 1) {
      await until(() => records.length >= count)
      return records.at(-1)
    },
    clear () { records.length = 0 }
  }
}

/**
 * Waits until the condition holds, or about 10 s: then the assertion after it fails.
 * @param {() => boolean} condition
 */
export async function until (condition) {
  for (let turn = 0; turn < 10_000 && !condition(); turn++) await new Promise((resolve) => setTimeout(resolve, 1))
}
