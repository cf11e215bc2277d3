// onewrite: the adapter's own classes.

import { createRequire } from 'node:module'
import * as undici from 'undici'
import { Agent, HttpAgent, HttpsAgent, ProxyAgent } from '../../src/index.js'
import { SENT_KINDS } from '../body.js'
import { composeUndici, httpOptions, undiciOptions, undiciProxyOptions } from '../options.js'
import { Skipped } from '../skipped.js'
import { makeWatch } from '../watch.js'

const modules = { undici: () => import('../apis/undici.js'), http: () => import('../apis/http.js') }

export const apis = ['undici', 'http']
export const base = { name: 'undici', version: createRequire(import.meta.url)('undici/package.json').version }
export const capabilities = [
  'timing', 'dns_split', 'queue', 'informational', 'shared_clock', 'cancel', 'proxy_forward', 'proxy_connect',
  'socket_options', 'custom_connector', 'concurrency', 'retries', 'redirects', 'load', 'serve', ...SENT_KINDS.map((kind) => `body:${kind}`)
]

export async function open (options) {
  const api = await modules[options.api]()
  if (options.adapter?.quickack !== undefined) throw new Skipped('Node cannot set TCP_QUICKACK')
  const watcher = options.hooks === 'none' ? null : makeWatch(options.hooks)
  const ours = { ...options.adapter, onTiming: watcher?.onTiming }
  const timed = watcher ? { watch: watcher.watch } : null
  if (options.api === 'http') {
    for (const name of ['proxy', 'custom_connector', 'retries', 'redirects']) {
      if (options[name]) throw new Skipped(`this driver gives node:http no ${name}`)
    }
    const httpAgent = new HttpAgent({ ...httpOptions(options), ...ours })
    const httpsAgent = new HttpsAgent({ ...httpOptions(options), ...ours })
    const closers = [() => httpAgent.destroy(), () => httpsAgent.destroy()]
    return { api, transport: { httpAgent, httpsAgent }, ...timed, closers, close: () => closeAll(closers) }
  }
  const agent = options.proxy
    ? new ProxyAgent({ ...undiciProxyOptions(options), ...ours })
    : new Agent({ ...undiciOptions(options), ...ours })
  const closers = [() => agent.destroy()]
  return {
    api,
    transport: { dispatcher: composeUndici(undici, agent, options), redirects: options.redirects, keepalive: options.keepalive },
    ...timed,
    closers,
    close: () => closeAll(closers)
  }
}

async function closeAll (closers) {
  for (const close of closers.splice(0)) await close()
}
