import { AsyncLocalStorage } from 'node:async_hooks'

/** null before the first id. @type {AsyncLocalStorage<string | number> | null} */
export let timingIds = null

/**
 * Runs `run` so that each call started in it has `id` in its timing record and events.
 * It finds the record of one `fetch()` or one axios call among many. The id follows the asynchronous context, so
 * redirect hops and retries of the same call have it too.
 * @template T
 * @param {string | number} id
 * @param {() => T} run
 * @returns {T} what `run` returns
 */
export function withTimingId (id, run) {
  timingIds ??= new AsyncLocalStorage()
  return timingIds.run(id, run)
}

/** @param {import('node:async_hooks').AsyncResource} context @returns {string | number | undefined} */
export function timingIdIn (context) {
  return timingIds === null ? undefined : context.runInAsyncScope(timingIds.getStore, timingIds)
}
