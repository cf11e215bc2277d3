/** Collects records and events; last() waits for the end of the call. */
export function recorder () {
  const timings = []
  const events = []
  return {
    timings,
    events,
    hooks: { onTiming: (timing) => timings.push(timing), listener: { onEvent: (event) => events.push(event) } },
    names: () => events.map((event) => event.name),
    async last () {
      await until(() => events.at(-1)?.name === 'callEnd')
      return timings.at(-1)
    },
    clear () { timings.length = events.length = 0 }
  }
}

/**
 * Waits until the condition holds, or about 10 s: then the assertion after it fails.
 * @param {() => boolean} condition
 */
export async function until (condition) {
  for (let turn = 0; turn < 10_000 && !condition(); turn++) await new Promise((resolve) => setTimeout(resolve, 1))
}
