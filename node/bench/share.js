// What part of a client's processor time is this package's own code: samples of V8's profiler, by file. Where processes of
// the same client differ by more than a hook costs, a ratio of two processes cannot tell; this is one process and its own
// samples. What it cannot see: garbage of ours that is collected later, and system calls of others that come later for us.
// node bench/share.js [seconds]
// The output is Markdown; it stands at the end of bench/RESULTS.md.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import * as undici from 'undici'
import { Agent, HttpAgent } from '../src/index.js'

const WARM_UP_MS = 2500
const CONNECTIONS = 10
const OURS = new URL('../src/', import.meta.url).href
const EACH_EVENT = { onEvent () {} }
const onTiming = () => {}
/** @type {Record<string, object>} */
const HOOKS = { 'no hook': {}, onTiming: { onTiming }, 'onTiming, every event': { onTiming, listener: EACH_EVENT } }
/** @type {[string, number][]} */
const CLIENTS = [['undici', 1], ['undici', 50], ['node:http', 1], ['node:http', 10]]

if (process.argv[2] === 'client') await client(...process.argv.slice(3))
else if (process.argv[2] === 'origin') serve()
else await main(Number(process.argv[2] ?? 5))

function serve () {
  const server = http.createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-length': 2 }).end('ok'))
  })
  server.listen(0, '127.0.0.1', () => process.send?.(/** @type {any} */ (server.address()).port))
}

/** @param {number} seconds */
async function main (seconds) {
  const origin = fork(fileURLToPath(import.meta.url), ['origin'])
  const [port] = await once(origin, 'message')
  console.log('## The package\'s own part\n')
  console.log(`Made by \`node bench/share.js ${seconds}\`, Buffer of 200 B: samples of V8's profiler in files of this package, of all samples in which the client was not idle. What it allocates is collected in the time of the garbage collector, beside it.\n`)
  console.log(`| client | callers | ${Object.keys(HOOKS).map((hooks) => `${hooks} | GC |`).join(' ')}`)
  console.log(`|---|---|${'---|---|'.repeat(Object.keys(HOOKS).length)}`)
  for (const [api, callers] of CLIENTS) {
    const shares = []
    for (const hooks of Object.keys(HOOKS)) {
      const child = fork(fileURLToPath(import.meta.url), ['client', api, String(callers), hooks, String(port), String(seconds)])
      const [{ ours, collector }] = await once(child, 'message')
      shares.push(`${(ours * 100).toFixed(1)} % | ${(collector * 100).toFixed(1)} % |`)
    }
    console.log(`| ${api} | ${callers} | ${shares.join(' ')}`)
  }
  origin.kill()
}

async function client (api, callers, hooks, port, seconds) {
  const call = callOf(api, HOOKS[hooks] ?? {}, `http://127.0.0.1:${port}/`)
  await callFor(call, Number(callers), WARM_UP_MS)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  await callFor(call, Number(callers), Number(seconds) * 1000)
  const { profile } = await session.post('Profiler.stop')
  process.send?.(sharesOf(profile), () => process.exit(0))
}

function callOf (api, hooks, url) {
  const body = Buffer.alloc(200, 'x')
  if (api === 'undici') {
    const dispatcher = new Agent({ connections: CONNECTIONS, ...hooks })
    return async () => (await undici.request(url, { dispatcher, method: 'POST', body })).body.dump()
  }
  const agent = new HttpAgent({ keepAlive: true, maxSockets: CONNECTIONS, ...hooks })
  return () => new Promise((resolve, reject) => {
    http.request(url, { agent, method: 'POST' }, (response) => response.resume().on('end', resolve)).on('error', reject).end(body)
  })
}

async function callFor (call, callers, ms) {
  const end = performance.now() + ms
  await Promise.all(Array.from({ length: callers }, async () => { while (performance.now() < end) await call() }))
}

/** @param {import('node:inspector').Profiler.Profile} profile */
function sharesOf ({ nodes, samples = [], timeDeltas = [] }) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  let [ours, collector, busy] = [0, 0, 0]
  for (const [index, id] of samples.entries()) {
    const { functionName, url } = /** @type {any} */ (frames.get(id))
    const spent = timeDeltas[index] ?? 0
    if (functionName === '(idle)') continue
    busy += spent
    if (functionName === '(garbage collector)') collector += spent
    else if (url.startsWith(OURS)) ours += spent
  }
  return { ours: ours / busy, collector: collector / busy }
}
