// Collects the records of each request. A hook runs in the asynchronous context of its request.

import { AsyncLocalStorage } from 'node:async_hooks'

const watches = new AsyncLocalStorage()

/** @param {string} mode of the hooks: in `raising` the hook throws after it has recorded */
export function makeWatch (mode) {
  return {
    onTiming (record) {
      watches.getStore()?.records.push(record)
      if (mode === 'raising') throw new Error('a hook that raises')
    },
    watch () {
      const watch = {
        records: [],
        run: (call) => watches.run(watch, call),
        // Turns of the event loop, some 1 ms each. After a standstill a time limit would end before sockets are read.
        async recorded (turns) {
          for (let turn = 0; turn < turns && watch.records.length === 0; turn++) await new Promise((resolve) => setTimeout(resolve, 1))
        }
      }
      return watch
    }
  }
}
