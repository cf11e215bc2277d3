// Collects the record and events of each call, by its timing id.

let lastId = 0

/**
 * @param {string} mode of the hooks: one of them may be set alone, or each throws after it has recorded
 * @param {(id: number, run: () => any) => any} withTimingId
 */
export function makeWatch (mode, withTimingId) {
  const watches = new Map()
  const phases = { wait_us: /** @type {number[]} */ ([]), send_us: /** @type {number[]} */ ([]) }
  const toUs = (ns) => Math.round(ns / 1000)
  const raise = () => { if (mode === 'raising') throw new Error('a hook that raises') }
  const onTiming = (timing) => {
    const watch = watches.get(timing.id)
    if (watch) watch.note(watch.records, timing)
    else {
      if (timing.waitNs !== undefined) phases.wait_us.push(toUs(timing.waitNs))
      if (timing.sendNs !== undefined) phases.send_us.push(toUs(timing.sendNs))
    }
    raise()
  }
  const listener = {
    onEvent (event) {
      const watch = watches.get(event.id)
      watch?.note(watch.events, event)
      raise()
    }
  }
  return {
    hooks: { ...(mode !== 'listener' && { onTiming }), ...(mode !== 'on_timing' && { listener }) },
    phases: {
      reset () { phases.wait_us = []; phases.send_us = [] },
      take () { const taken = { ...phases }; this.reset(); return taken }
    },
    watch () {
      const id = ++lastId
      let wake = () => {}
      const watch = {
        records: [],
        events: [],
        run: (call) => withTimingId(id, call),
        note (list, one) {
          list.push(one)
          if (watch.over()) wake()
        },
        over: () => (mode === 'listener' || watch.records.length > 0) && (mode === 'on_timing' || watch.events.at(-1)?.name === 'callEnd'),
        async settled (limitMs) {
          if (!watch.over()) {
            await new Promise((resolve) => {
              const timer = setTimeout(resolve, limitMs)
              wake = () => { clearTimeout(timer); resolve(undefined) }
            })
          }
          watches.delete(id)
        }
      }
      watches.set(id, watch)
      return watch
    }
  }
}
