// Collects the record and events of each call, by its timing id.

let lastId = 0

/**
 * @param {string} mode of the hooks: one of them may be set alone, or each throws after it has recorded
 * @param {(id: number, run: () => any) => any} withTimingId
 */
export function makeWatch (mode, withTimingId) {
  const watches = new Map()
  const raise = () => { if (mode === 'raising') throw new Error('a hook that raises') }
  const onTiming = (timing) => {
    watches.get(timing.id)?.records.push(timing)
    raise()
  }
  const listener = {
    onEvent (event) {
      watches.get(event.id)?.events.push(event)
      raise()
    }
  }
  return {
    hooks: { ...(mode !== 'listener' && { onTiming }), ...(mode !== 'on_timing' && { listener }) },
    watch () {
      const id = ++lastId
      const watch = {
        records: [],
        events: [],
        run: (call) => withTimingId(id, call),
        over: () => (mode === 'listener' || watch.records.length > 0) && (mode === 'on_timing' || watch.events.at(-1)?.name === 'callEnd'),
        // Turns of the event loop, some 1 ms each. After a standstill a time limit would end before sockets are read.
        async settled (turns) {
          for (let turn = 0; turn < turns && !watch.over(); turn++) await new Promise((resolve) => setTimeout(resolve, 1))
          watches.delete(id)
        }
      }
      watches.set(id, watch)
      return watch
    }
  }
}
