// stock: undici, fetch and node:http as people use them. The adapter is not loaded.

import { createRequire } from 'node:module'
import http from 'node:http'
import https from 'node:https'
import * as undici from 'undici'
import { SENT_KINDS } from '../body.js'
import { composeUndici, httpOptions, undiciOptions, undiciProxyOptions } from '../options.js'
import { Skipped } from '../skipped.js'

const modules = { undici: () => import('../apis/undici.js'), fetch: () => import('../apis/fetch.js'), http: () => import('../apis/http.js') }

export const apis = ['undici', 'fetch', 'http']
export const base = { name: 'undici', version: createRequire(import.meta.url)('undici/package.json').version }
export const capabilities = [
  'shared_clock', 'cancel', 'proxy_forward', 'proxy_connect', 'socket_options', 'custom_connector', 'concurrency',
  'retries', 'redirects', 'load', 'serve', ...SENT_KINDS.map((kind) => `body:${kind}`)
]

export async function open (options) {
  const api = await modules[options.api]()
  const closers = []
  if (options.api === 'http') {
    if (options.proxy) throw new Skipped('this driver gives node:http no proxy')
    if (options.custom_connector) throw new Skipped('this driver gives node:http no connector')
    const httpAgent = new http.Agent(httpOptions(options))
    const httpsAgent = new https.Agent(httpOptions(options))
    closers.push(() => httpAgent.destroy(), () => httpsAgent.destroy())
    return { api, transport: { httpAgent, httpsAgent }, closers, close: () => closeAll(closers) }
  }
  const agent = options.proxy ? new undici.ProxyAgent(undiciProxyOptions(options)) : new undici.Agent(undiciOptions(options))
  closers.push(() => agent.destroy())
  return {
    api,
    transport: { dispatcher: composeUndici(undici, agent, options), redirects: options.redirects, keepalive: options.keepalive },
    closers,
    close: () => closeAll(closers)
  }
}

export async function closeAll (closers) {
  for (const close of closers.splice(0)) await close()
}
