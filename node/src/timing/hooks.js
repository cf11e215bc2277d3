/** Calls the program's hooks with finished records. An error of a hook is swallowed, counted and reported once. */

import { warnOnce } from '../errors.js'

/** @typedef {import('../config.js').Hook} Hook */

let failures = 0
/** A hook is on the stack: a request that it sends has no record, or an exporter would never end. @internal */
export let isHookRunning = false
/** Its reactions run when the present call has returned. `queueMicrotask()` would make an AsyncResource for each. */
const resolved = Promise.resolve()

/** @returns {number} how many hooks have failed in this thread */
export function hookFailures () { return failures }

/**
 * Calls the hooks when the present call of the base library has returned. Then the connection is free, or closed.
 * @internal
 * @param {Hook[]} hooks
 * @param {any} record
 * @param {import('node:async_hooks').AsyncResource} scope of the request, in whose asynchronous context they run
 */
export function callHooksLater (hooks, record, scope) {
  resolved.then(() => scope.runInAsyncScope(callHooks, null, hooks, record))
}

/** @param {Hook[]} hooks @param {any} record */
function callHooks (hooks, record) {
  isHookRunning = true
  // A copy: a hook may remove itself.
  for (const hook of [...hooks]) {
    try {
      const result = /** @type {any} */ (hook(record))
      if (typeof result?.then === 'function') result.then(undefined, swallow)
    } catch (error) {
      swallow(error)
    }
  }
  isHookRunning = false
}

/** Cannot throw: `error` may be any value, also one whose every property throws. @param {any} error */
function swallow (error) {
  failures++
  let reason = 'a value that cannot be shown'
  try {
    reason = error instanceof Error ? String(error.stack) : String(error)
  } catch {}
  try {
    warnOnce('ONEWRITE_HOOK_FAILED', `a timing hook failed; this is reported once: ${reason}`)
  } catch {}
}
