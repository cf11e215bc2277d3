// Node clients as people use them. usage: victim.mjs NAME URL COUNT [--cured]
// Prints one JSON line: the version, and what each POST took in ms, warm-up left out.
// `--cured` gives the library an agent of onewrite's. The certificate to trust is in NODE_EXTRA_CA_CERTS.
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

const WARM_UP = 16
const [name, url, count, flag] = process.argv.slice(2)
const cured = flag === '--cured'
const onewrite = cured ? await import('../../../../node/src/index.js') : undefined
// Read as a file: not every package exports its package.json.
const version = (library) => JSON.parse(readFileSync(new URL(`node_modules/${library}/package.json`, import.meta.url), 'utf8')).version

/** An agent for node:http: the library's own, or onewrite's. */
function agentFor (keepAlive = true) {
  const options = { keepAlive, maxSockets: 1 }
  if (!cured) return url.startsWith('https:') ? new https.Agent(options) : new http.Agent(options)
  return url.startsWith('https:') ? new onewrite.HttpsAgent(options) : new onewrite.HttpAgent(options)
}

/** undici: the victim's own, or the copy that onewrite stands on: two copies do not share their FormData. */
const undici = () => createRequire(cured ? new URL('../../../../node/package.json', import.meta.url) : import.meta.url)('undici')

/** A body that arrives in two pieces, as from a database or another service. */
async function * pieces () {
  yield 'x'.repeat(100)
  await sleep(1)
  yield 'x'.repeat(100)
}

const names = {
  'node-https-late-body': () => {
    const agent = agentFor()
    const module = url.startsWith('https:') ? https : http
    return [process.versions.node, () => new Promise((resolve, reject) => {
      const headers = { 'content-length': 200 }
      const request = module.request(url, { method: 'POST', agent, headers }, (response) => response.resume().on('end', resolve))
      request.on('error', reject)
      request.flushHeaders()
      setImmediate(() => request.end('x'.repeat(200)))
    })]
  },
  'axios-stream': async () => {
    const { default: axios } = await import('axios')
    const client = axios.create({ httpsAgent: agentFor(), httpAgent: agentFor(), maxRedirects: 0 })
    return [version('axios'), () => client.post(url, Readable.from(pieces()))]
  },
  // The HTTP layer of the AWS SDKs, with the request they would hand it.
  'smithy-stream': async () => {
    const { NodeHttpHandler } = await import('@smithy/node-http-handler')
    const handler = new NodeHttpHandler({ httpsAgent: agentFor(), httpAgent: agentFor() })
    const { protocol, hostname, port } = new URL(url)
    return [version('@smithy/node-http-handler'), async () => {
      const headers = { 'content-length': '200' }
      const request = { protocol, hostname, port: Number(port), method: 'POST', path: '/', query: {}, headers, body: Readable.from(pieces()) }
      const { response } = await handler.handle(request)
      await response.body.toArray()
    }]
  },
  'got-form': async () => {
    const { got } = await import('got')
    const client = got.extend({ agent: { https: agentFor(), http: agentFor() }, retry: { limit: 0 } })
    return [version('got'), () => {
      const form = new FormData()
      form.set('field', 'x'.repeat(200))
      return client.post(url, { body: form })
    }]
  },
  'undici-connector-form': async () => {
    const { Agent, request, FormData } = undici()
    const { hostname, port } = new URL(url)
    const connect = (_options, callback) => {
      const socket = net.connect({ host: hostname, port })
      socket.once('connect', () => callback(null, socket)).once('error', callback)
    }
    const dispatcher = cured ? new onewrite.Agent({ connect, connections: 1 }) : new Agent({ connect, connections: 1 })
    return [version('undici'), async () => {
      const body = new FormData()
      body.set('field', 'x'.repeat(200))
      const response = await request(url, { method: 'POST', dispatcher, body })
      await response.body.dump()
    }]
  },
  'undici-string': async () => {
    const { Agent, request } = undici()
    const dispatcher = cured ? new onewrite.Agent({ connections: 1 }) : new Agent({ connections: 1 })
    return [version('undici'), async () => {
      const response = await request(url, { method: 'POST', dispatcher, body: 'x'.repeat(200) })
      await response.body.dump()
    }]
  }
}

const [release, post] = await names[name]()
const times = []
for (let turn = 0; turn < WARM_UP + Number(count); turn++) {
  const started = performance.now()
  await post()
  times.push(performance.now() - started)
}
process.stdout.write(JSON.stringify({ version: release, times_ms: times.slice(WARM_UP) }) + '\n', () => process.exit(0))
