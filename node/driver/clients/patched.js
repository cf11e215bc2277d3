// patched: the runtime's fetch and undici's own functions after install().

import { createRequire } from 'node:module'
import * as undici from 'undici'
import { install, uninstall, withTimingId } from '../../src/index.js'
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
  'concurrency', 'checked_options', 'load', 'serve', 'chunk_times',
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
  const watcher = options.hooks === 'none' ? null : makeWatch(options.hooks === 'raising', withTimingId)
  const before = undici.getGlobalDispatcher()
  install({ ...undiciOptions(options), ...adapterOptions(options), ...watcher?.hooks })
  if (undici.getGlobalDispatcher() === before) {
    // disabled: stock behaviour, but with the options of this client
    const agent = new undici.Agent(undiciOptions(options))
    undici.setGlobalDispatcher(agent)
  }
  // uninstall() closes no Agent, because another dispatcher may use it. Here nothing else does.
  const agent = undici.getGlobalDispatcher()
  open_++
  const closers = [() => { open_--; if (!uninstall()) undici.setGlobalDispatcher(before) }, () => agent.destroy()]
  return {
    api,
    transport: { redirects: options.redirects },
    ...(watcher ? { watch: watcher.watch, phases: watcher.phases } : null),
    closers,
    close: async () => { for (const close of closers.splice(0)) await close() }
  }
}
