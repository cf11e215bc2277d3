// Collects the records of each request. A hook runs in the asynchronous context in which its request was sent. undici sends
// redirects and retries in that of the connection, so their records are taken for those of the only call under way.

import { AsyncLocalStorage } from 'node:async_hooks'

const watches = new AsyncLocalStorage()
/** The requests under way. */
const running = new Set()

/** @param {string} mode of the hooks: in `raising` the hook throws after it has recorded */
export function makeWatch (mode) {
  return {
    onTiming (record) {
      const own = watches.getStore()
      const [only] = running
      const watch = running.has(own) ? own : running.size === 1 ? only : undefined
      watch?.records.push(record)
      if (mode === 'raising') throw new Error('a hook that raises')
    },
    watch () {
      const watch = {
        records: [],
        run (call) {
          running.add(watch)
          return watches.run(watch, call)
        },
        // Turns of the event loop, some 1 ms each. After a standstill a time limit would end before sockets are read.
        async recorded (turns) {
          for (let turn = 0; turn < turns && watch.records.length === 0; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
          running.delete(watch)
        }
      }
      return watch
    }
  }
}
