// control: node:http with Nagle on, header flushed before the body: two writes on a pooled connection.

import http from 'node:http'
import https from 'node:https'
import * as api from '../apis/http.js'
import { httpOptions } from '../options.js'
import { Skipped } from '../skipped.js'

export const apis = ['http']
export const base = { name: 'node:http', version: process.versions.node }
export const capabilities = ['shared_clock', 'cancel', 'concurrency', 'load', 'serve', 'body:bytes', 'body:text', 'body:form', 'body:file', 'body:stream']

export async function open (options) {
  for (const name of ['proxy', 'custom_connector', 'retries', 'redirects']) {
    if (options[name]) throw new Skipped(`control has no ${name}`)
  }
  // noDelay of the user would remove the stall.
  const { noDelay, ...rest } = httpOptions(options)
  const httpAgent = new http.Agent({ ...rest, noDelay: false })
  const httpsAgent = new https.Agent({ ...rest, noDelay: false })
  const closers = [() => httpAgent.destroy(), () => httpsAgent.destroy()]
  return {
    api,
    transport: { httpAgent, httpsAgent, split: true },
    closers,
    close: async () => { for (const close of closers.splice(0)) await close() }
  }
}
