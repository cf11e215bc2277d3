// patched: the runtime's fetch and undici's own functions after install().

import { createRequire } from 'node:module'
import * as undici from 'undici'
import { install, uninstall } from '../../src/index.js'
import { SENT_KINDS } from '../body.js'
import { undiciOptions } from '../options.js'
import { Skipped } from '../skipped.js'
import { makeWatch } from '../watch.js'

const modules = { fetch: () => import('../apis/fetch.js'), undici: () => import('../apis/undici.js') }

export const apis = ['fetch', 'undici']
export const base = { name: 'undici', version: createRequire(import.meta.url)('undici/package.json').version }
export const capabilities = [
  'timing', 'dns_split', 'queue', 'informational', 'shared_clock', 'cancel', 'socket_options', 'custom_connector',
  'concurrency', 'install', 'load', 'serve',
  // fetch takes no open file, and no Content-Length for a stream.
  ...SENT_KINDS.filter((kind) => kind !== 'file').map((kind) => `body:${kind}`)
]

let open_ = 0

export async function open (options) {
  const api = await modules[options.api]()
  if (open_ > 0) throw new Skipped('the global dispatcher is one for the whole process: close the other client first')
  if (options.proxy) throw new Skipped('install() sets no proxy')
  if (options.retries) throw new Skipped('fetch has no retries')
  if (options.adapter?.quickack !== undefined) throw new Skipped('Node cannot set TCP_QUICKACK')
  const watcher = options.hooks === 'none' ? null : makeWatch(options.hooks)
  const before = undici.getGlobalDispatcher()
  const ours = { ...undiciOptions(options), ...options.adapter }
  install({ ...ours, onTiming: options.hooks === 'added' ? undefined : watcher?.onTiming })
  if (options.hooks === 'added') install({ onTiming: watcher?.onTiming })
  const closers = [() => { open_--; uninstall(); undici.setGlobalDispatcher(before) }]
  // disabled: stock behaviour, but with the options of this client
  if (undici.getGlobalDispatcher() === before) {
    const agent = new undici.Agent(undiciOptions(options))
    undici.setGlobalDispatcher(agent)
  }
  // uninstall() closes no Agent, because another dispatcher may use it. Here nothing else does.
  const agent = undici.getGlobalDispatcher()
  closers.push(() => agent.destroy())
  open_++
  return {
    api,
    transport: { redirects: options.redirects },
    ...(watcher ? { watch: watcher.watch } : null),
    closers,
    close: async () => { for (const close of closers.splice(0)) await close() }
  }
}
