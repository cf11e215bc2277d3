// patched: the runtime's fetch and undici's own functions after install().

import { createRequire } from 'node:module'
import * as undici from 'undici'
import { Agent, install, status, uninstall, withTimingId } from '../../src/index.js'
import { BODY_KINDS } from '../body.js'
import { undiciOptions } from '../options.js'
import { Skipped } from '../skipped.js'
import { makeWatch } from '../watch.js'
import { adapterOptions } from './onewrite.js'

const modules = { fetch: () => import('../apis/fetch.js'), undici: () => import('../apis/undici.js') }

export const apis = ['fetch', 'undici']
export const base = { name: 'undici', version: createRequire(import.meta.url)('undici/package.json').version }
export const capabilities = [
  'timing', 'events', 'dns_split', 'queue', 'informational', 'shared_clock', 'cancel', 'socket_options', 'custom_connector',
  'concurrency', 'checked_options', 'install', 'status', 'load', 'serve', 'objects',
  // Not prompt_memory: fetch copies the body, as its standard requires.
  // fetch takes no open file, and no Content-Length for a stream.
  ...BODY_KINDS.filter((kind) => kind !== 'file').map((kind) => `body:${kind}`)
]

let open_ = 0

export async function open (options) {
  const api = await modules[options.api]()
  if (open_ > 0) throw new Skipped('the global dispatcher is one for the whole process: close the other client first')
  if (options.proxy) throw new Skipped('install() sets no proxy')
  if (options.retries) throw new Skipped('fetch has no retries')
  const watcher = options.hooks === 'none' ? null : makeWatch(options.hooks, withTimingId)
  const before = undici.getGlobalDispatcher()
  const { listener, ...hooks } = watcher?.hooks ?? {}
  const ours = { ...undiciOptions(options), ...adapterOptions(options) }
  const first = install({ ...ours, listener, ...(options.hooks === 'added' ? null : hooks) })
  if (options.hooks === 'added') install({ ...ours, ...hooks })
  const closers = [() => { open_--; uninstall(); undici.setGlobalDispatcher(before) }]
  // disabled or taken out: stock behaviour, but with the options of this client
  const stock = () => {
    const agent = new undici.Agent(undiciOptions(options))
    undici.setGlobalDispatcher(agent)
    closers.push(() => agent.destroy())
  }
  if (undici.getGlobalDispatcher() === before) stock()
  // uninstall() closes no Agent, because another dispatcher may use it. Here nothing else does.
  const agent = undici.getGlobalDispatcher()
  closers.push(() => agent.destroy())
  open_++
  return {
    api,
    transport: { redirects: options.redirects },
    call (what) {
      if (what === 'install') {
        // install() leaves an Agent with options in its place: the one that stands for stock is of this driver.
        if (!(undici.getGlobalDispatcher() instanceof Agent)) undici.setGlobalDispatcher(before)
        install(ours)
      }
      if (what === 'uninstall' && uninstall()) stock()
      if (what === 'remove') first.remove()
      const { enabled, patches, hooks, hookErrors } = status()
      return { in_force: enabled && patches['fetch and undici without a dispatcher'] === 'on', hooks: hooks > 0, hook_errors: hookErrors }
    },
    ...(watcher ? { watch: watcher.watch } : null),
    closers,
    close: async () => { for (const close of closers.splice(0)) await close() }
  }
}
