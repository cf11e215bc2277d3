/** Collects records and events, and waits for the record of the call that is over. */
export function recorder () {
  const timings = []
  const events = []
  return {
    timings,
    events,
    hooks: { onTiming: (timing) => timings.push(timing), listener: { onEvent: (event) => events.push(event) } },
    names: () => events.map((event) => event.name),
    async last () {
      for (let turn = 0; turn < 10_000 && events.at(-1)?.name !== 'callEnd'; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
      return timings.at(-1)
    },
    clear () { timings.length = events.length = 0 }
  }
}
