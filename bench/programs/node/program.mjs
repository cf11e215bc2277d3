// Node clients as people use them, for the scenario stock-libraries. usage: program.mjs NAME [--cured]
// Prints one JSON line: name, version, runtime. Then, for each line `URL COUNT` on standard input, it makes so many POSTs
// and prints one JSON line: what each took in microseconds. `--cured` gives the library an agent of onewrite's.
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

const [name, flag] = process.argv.slice(2)
const onewrite = flag === '--cured' ? await import('../../../node/src/index.js') : undefined
// Read as a file: not every package exports its package.json.
const version = (library) => JSON.parse(readFileSync(new URL(`node_modules/${library}/package.json`, import.meta.url), 'utf8')).version
const options = { keepAlive: true, maxSockets: 1 }
const httpsAgent = onewrite ? new onewrite.HttpsAgent(options) : new https.Agent(options)
const httpAgent = onewrite ? new onewrite.HttpAgent(options) : new http.Agent(options)

/** A body that arrives in two pieces, as from a database or another service. */
async function * pieces () {
  yield 'x'.repeat(100)
  await sleep(1)
  yield 'x'.repeat(100)
}

const programs = {
  'node:https': () => [process.versions.node, (url) => new Promise((resolve, reject) => {
    const headers = { 'content-length': 200 }
    const request = https.request(url, { method: 'POST', agent: httpsAgent, headers }, (response) => response.resume().on('end', resolve))
    request.on('error', reject)
    request.flushHeaders()
    setImmediate(() => request.end('x'.repeat(200)))
  })],
  axios: async () => {
    const { default: axios } = await import('axios')
    const client = axios.create({ httpsAgent, httpAgent, maxRedirects: 0 })
    return [version('axios'), (url) => client.post(url, Readable.from(pieces()))]
  },
  // The HTTP layer of the AWS SDKs, with the request they would hand it.
  '@smithy/node-http-handler': async () => {
    const { NodeHttpHandler } = await import('@smithy/node-http-handler')
    const handler = new NodeHttpHandler({ httpsAgent, httpAgent })
    return [version('@smithy/node-http-handler'), async (url) => {
      const { protocol, hostname, port } = new URL(url)
      const headers = { 'content-length': '200' }
      const request = { protocol, hostname, port: Number(port), method: 'POST', path: '/', query: {}, headers, body: Readable.from(pieces()) }
      const { response } = await handler.handle(request)
      await response.body.toArray()
    }]
  },
  got: async () => {
    const { got } = await import('got')
    const client = got.extend({ agent: { https: httpsAgent, http: httpAgent }, retry: { limit: 0 } })
    return [version('got'), (url) => {
      const form = new FormData()
      form.set('field', 'x'.repeat(200))
      return client.post(url, { body: form })
    }]
  }
}

const [release, post] = await programs[name]()
console.log(JSON.stringify({ name, version: release, runtime: `Node ${process.versions.node}` }))
for await (const line of createInterface({ input: process.stdin })) {
  const [url, count] = line.split(' ')
  const times = []
  for (let turn = 0; turn < Number(count); turn++) {
    const started = performance.now()
    await post(url)
    times.push(Math.round((performance.now() - started) * 1000))
  }
  console.log(JSON.stringify(times))
}
process.exit(0)
