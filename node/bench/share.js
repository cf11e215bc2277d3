// The share of this package's code in a client's CPU time: samples of V8's profiler, by file. Two processes of the same
// client differ by more than a hook costs, so their ratio shows nothing; this measures within one process. It does not see
// the collection of this package's garbage, nor system calls that other code makes because of it.
// node bench/share.js [seconds]
// Prints Markdown, the last part of bench/RESULTS.md.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { callOf, slice, warmUp } from './calls.js'

const CONNECTIONS = 10
const OURS = new URL('../src/', import.meta.url).href
const EACH_EVENT = { onEvent () {} }
const onTiming = () => {}
/** @type {Record<string, object>} */
const HOOKS = { 'no hook': {}, onTiming: { onTiming }, 'onTiming, every event': { onTiming, listener: EACH_EVENT } }
/** Kinds of calls, and how many callers. @type {[string, number][]} */
const CLIENTS = [['buffer', 1], ['buffer', 50], ['node:http', 1], ['node:http', 10]]

if (process.argv[2] === 'client') await client(...process.argv.slice(3))
else await main(Number(process.argv[2] ?? 5))

/** @param {number} seconds */
async function main (seconds) {
  const origin = fork(fileURLToPath(new URL('origin.js', import.meta.url)))
  const [[port]] = /** @type {any} */ (await once(origin, 'message'))
  console.log('## The package\'s own part\n')
  console.log(`Made by \`node bench/share.js ${seconds}\` with Node ${process.versions.node}, Buffer of 200 B: samples of V8's profiler in files of this package, of all samples in which the client was not idle. What it allocates is collected in the time of the garbage collector, beside it.\n`)
  console.log(`| client | callers | ${Object.keys(HOOKS).map((hooks) => `${hooks} | GC |`).join(' ')}`)
  console.log(`|---|---|${'---|---|'.repeat(Object.keys(HOOKS).length)}`)
  for (const [kind, callers] of CLIENTS) {
    const shares = []
    for (const hooks of Object.keys(HOOKS)) {
      const child = fork(fileURLToPath(import.meta.url), ['client', kind, String(callers), hooks, String(port), String(seconds)])
      const [{ ours, collector }] = await once(child, 'message')
      shares.push(`${(ours * 100).toFixed(1)} % | ${(collector * 100).toFixed(1)} % |`)
    }
    console.log(`| ${kind === 'buffer' ? 'undici' : kind} | ${callers} | ${shares.join(' ')}`)
  }
  origin.kill()
}

async function client (kind, callers, hooks, port, seconds) {
  const call = callOf(kind, CONNECTIONS, HOOKS[hooks], `http://127.0.0.1:${port}/`)
  await warmUp(call, Number(callers))
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  await slice(call, Number(callers), Number(seconds) * 1000)
  const { profile } = await session.post('Profiler.stop')
  process.send?.(sharesOf(profile), () => process.exit(0))
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
