// 20 POSTs by an HTTP library of Node. usage: client.mjs LIBRARY URL
import http from 'node:http'
import https from 'node:https'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [library, url] = process.argv.slice(2)
const body = 'x'.repeat(200)
const require = createRequire(new URL('../../../node/package.json', import.meta.url))
const load = async (name) => await import(pathToFileURL(require.resolve(name)).href)
const scheme = url.startsWith('https:') ? https : http
const agent = new scheme.Agent({ keepAlive: true })

const request = (send, headers = {}) => new Promise((resolve, reject) => {
  const sent = scheme.request(url, { method: 'POST', agent, headers }, (response) => response.resume().on('end', resolve))
  sent.on('error', reject)
  send(sent)
})

const libraries = {
  end: () => () => request((sent) => sent.end(body)),
  length: () => () => request((sent) => sent.end(body), { 'content-length': 200 }),
  write: () => () => request((sent) => { sent.write(body.slice(100)); sent.end(body.slice(100)) }),
  agent: async () => {
    const { HttpsAgent } = await import(new URL('../../../node/src/index.js', import.meta.url))
    const ours = new HttpsAgent({ keepAlive: true })
    return () => new Promise((resolve, reject) => {
      const sent = https.request(url, { method: 'POST', agent: ours }, (response) => response.resume().on('end', resolve))
      sent.on('error', reject)
      sent.flushHeaders()
      setImmediate(() => sent.end(body))
    })
  },
  late: () => () => request((sent) => { sent.flushHeaders(); setImmediate(() => sent.end(body)) }),
  fetch: () => async () => await (await fetch(url, { method: 'POST', body })).text(),
  fetchform: () => async () => {
    const form = new FormData()
    form.set('name', body)
    await (await fetch(url, { method: 'POST', body: form })).text()
  },
  undici: async () => {
    const { request } = await load('undici')
    return async () => await (await request(url, { method: 'POST', body })).body.text()
  },
  axios: async () => {
    const { default: axios } = await load('axios')
    return () => axios.post(url, body, { httpAgent: agent, httpsAgent: agent })
  },
  axiosstream: async () => {
    const { default: axios } = await load('axios')
    return () => axios.post(url, Readable.from([body]), { httpAgent: agent, httpsAgent: agent })
  },
  got: async () => {
    const { default: got } = await load('got')
    return () => got.post(url, { body, agent: { http: agent, https: agent } })
  },
  nodefetch: async () => {
    const { default: fetch } = await load('node-fetch')
    return async () => await (await fetch(url, { method: 'POST', body, agent })).text()
  },
  needle: async () => {
    const { default: needle } = await load('needle')
    return () => needle('post', url, body, { agent })
  }
}

const send = await libraries[library]()
for (let turn = 0; turn < 20; turn++) await send()
process.exit(0)
