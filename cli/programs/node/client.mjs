// Node's HTTP clients as people use them. usage: client.mjs LIBRARY URL COUNT [--onewrite]
import http from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

const [name, url, count, flag] = process.argv.slice(2)
const onewrite = flag === '--onewrite' ? await import('../../../node/src/index.js') : undefined
const body = 'x'.repeat(200)
const secure = url.startsWith('https:')

function agent () {
  const options = { keepAlive: true, maxSockets: 1 }
  if (onewrite) return secure ? new onewrite.HttpsAgent(options) : new onewrite.HttpAgent(options)
  return secure ? new https.Agent(options) : new http.Agent(options)
}

/** A body that arrives in two pieces, as from a database or another service. */
async function * pieces () {
  yield 'x'.repeat(100)
  await sleep(1)
  yield 'x'.repeat(100)
}

const libraries = {
  fetch: () => {
    onewrite?.install()
    return async () => { await (await fetch(url, { method: 'POST', body })).text() }
  },
  axios: async () => {
    const { default: axios } = await import('axios')
    const client = axios.create({ httpAgent: agent(), httpsAgent: agent() })
    return () => client.post(url, body)
  },
  'axios-stream': async () => {
    const { default: axios } = await import('axios')
    const client = axios.create({ httpAgent: agent(), httpsAgent: agent(), maxRedirects: 0 })
    return () => client.post(url, Readable.from(pieces()))
  },
  got: async () => {
    const { default: got } = await import('got')
    const own = agent()
    return () => got.post(url, { body, agent: { http: own, https: own } })
  }
}

const post = await libraries[name]()
for (let turn = 0; turn < Number(count); turn++) await post()
process.exit(0)
