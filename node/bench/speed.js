// Speed against stock. Each client is its own process, so that V8 does not optimize code for both kinds of objects. They
// take turns, one runs at a time. Each round gives a ratio; the table shows the median of the rounds.
// node bench/speed.js [rounds] [slice in ms] [rows with this text]
// Absolute figures depend on the machine and its load; compare ratios.
// Prints Markdown, as in bench/RESULTS.md.

import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { WARM_UP_CPU_MS, callOf, slice, warmUp } from './calls.js'

/** Two processes of the same client differ by some per cent for all their life, by luck of memory and compiler. */
const PAIRS = 3
const [CLIENT_CORE, SERVER_CORE] = [0, 1]

const EACH_EVENT = { onEvent () {} }
const onTiming = () => {}

/**
 * Rows of the table: a body or a library, the number of callers and of connections, and the variants, the first of which
 * is the base: a name and our options, or null for stock.
 * @type {[string, string, number, number, Record<string, object | null>][]}
 */
const SCENARIOS = [
  ['undici.request, string 200 B', 'string', 1, 1, { undici: null, onewrite: {} }],
  ['undici.request, string 200 B', 'string', 50, 10, { undici: null, onewrite: {} }],
  ['undici.request, Buffer 200 B', 'buffer', 1, 1, { undici: null, onewrite: {} }],
  ['undici.request, Buffer 200 B', 'buffer', 50, 10, { undici: null, onewrite: {} }],
  ['hooks: Buffer 200 B', 'buffer', 1, 1, { undici: null, onTiming: { onTiming } }],
  ['hooks: Buffer 200 B', 'buffer', 50, 10, { undici: null, onTiming: { onTiming } }],
  ['hooks: Buffer 200 B', 'buffer', 1, 1, { undici: null, 'onTiming, every event': { onTiming, listener: EACH_EVENT } }],
  ['hooks: Buffer 200 B', 'buffer', 50, 10, { undici: null, 'onTiming, every event': { onTiming, listener: EACH_EVENT } }],
  ['undici.request, form', 'form', 10, 10, { undici: null, onewrite: {} }],
  ['undici.request, 4 chunks, chunked', 'chunked', 10, 10, { undici: null, onewrite: {} }],
  ['undici.request, 20 000 chunks of 1 kB to a sink', 'many', 1, 1, { undici: null, onewrite: {} }],
  ['fetch, Buffer 200 B', 'fetch', 10, 10, { 'undici.fetch': null, onewrite: {} }],
  ['node:http, Buffer 200 B', 'node:http', 1, 1, { 'http.Agent': null, HttpAgent: {} }],
  ['node:http, Buffer 200 B', 'node:http', 10, 10, { 'http.Agent': null, HttpAgent: {} }],
  ['hooks: node:http, Buffer 200 B', 'node:http', 10, 10, { 'http.Agent': null, onTiming: { onTiming } }],
  ['axios, Buffer 200 B', 'axios', 10, 10, { 'http.Agent': null, HttpAgent: {} }],
  ['got, Buffer 200 B', 'got', 10, 10, { 'http.Agent': null, HttpAgent: {} }]
]

if (process.argv[2] === 'client') await serveSlices(...process.argv.slice(3))
else await main(Number(process.argv[2] ?? 60), Number(process.argv[3] ?? 35), process.argv[4] ?? '')

/** A client: one variant of one scenario, for as long as it is told, each time that it is told. */
async function serveSlices (index, variant, port, sinkPort) {
  const [, kind, callers, connections, variants] = SCENARIOS[index]
  const call = callOf(kind, connections, variants[variant], `http://127.0.0.1:${kind === 'many' ? sinkPort : port}/`)
  await warmUp(call, callers)
  process.on('message', async (sliceMs) => process.send?.(await slice(call, callers, sliceMs)))
  process.send?.('ready')
}

async function main (rounds, sliceMs, wanted) {
  const origin = fork(fileURLToPath(new URL('origin.js', import.meta.url)))
  const pinned = os.availableParallelism() > 1 && pin(SERVER_CORE, origin)
  const [ports] = /** @type {any} */ (await once(origin, 'message'))
  console.log('# Speed of the Node adapter against stock\n')
  console.log(`Made by \`node bench/speed.js ${rounds} ${sliceMs}\` with Node ${process.versions.node}, undici ${undiciVersion()}, on ${os.cpus().length} cores at load ${os.loadavg()[0]?.toFixed(1)}; ` +
    (pinned ? 'clients on one core, the server on another.' : 'not pinned to cores.'))
  console.log(`Each client is a process of its own; they take turns of ${sliceMs} ms, ${rounds} rounds over ${PAIRS} pairs of processes, each warmed up by ${WARM_UP_CPU_MS} ms of CPU. Ratios are medians over the rounds, quartiles behind; above 1 is faster in req/s and dearer in CPU.\n`)
  console.log('| what | callers | stock | req/s | CPU µs/req | onewrite | req/s ratio | CPU ratio |')
  console.log('|---|---|---|---|---|---|---|---|')
  try {
    for (const [index, [what]] of SCENARIOS.entries()) if (what.includes(wanted)) await compare(index, ports, rounds, sliceMs, pinned)
  } finally {
    origin.kill()
  }
  process.exit(0)
}

/** Without it the scheduler puts client and server now on one core and now on two, which is most of the noise. */
function pin (core, child) {
  try {
    execFileSync('taskset', ['-acp', String(core), String(child.pid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function undiciVersion () {
  return JSON.parse(readFileSync(new URL('../node_modules/undici/package.json', import.meta.url), 'utf8')).version
}

async function compare (index, ports, rounds, sliceMs, pinned) {
  const [what, , callers, , variants] = SCENARIOS[index]
  const [base, other] = Object.keys(variants)
  const results = []
  for (let pair = 0; pair < PAIRS; pair++) results.push(...await runPair(index, [base, other], ports, Math.ceil(rounds / PAIRS), sliceMs, pinned))
  const median = (what) => quantile(results.map((result) => result[base][what]), 0.5).toFixed(0)
  const ratios = (what) => show(results.map((result) => result[other][what] / result[base][what]))
  console.log(`| ${what} | ${callers} | ${base} | ${median('rate')} | ${median('cpu')} | ${other} | ${ratios('rate')} | ${ratios('cpu')} |`)
}

async function runPair (index, names, ports, rounds, sliceMs, pinned) {
  const clients = {}
  for (const name of names) {
    clients[name] = fork(fileURLToPath(import.meta.url), ['client', String(index), name, ...ports.map(String)])
    if (pinned) pin(CLIENT_CORE, clients[name])
    await once(clients[name], 'message')
  }
  const results = []
  for (let round = 0; round < rounds; round++) {
    const result = {}
    for (const name of round % 2 ? names : [...names].reverse()) {
      clients[name].send(sliceMs)
      result[name] = (await once(clients[name], 'message'))[0]
    }
    results.push(result)
  }
  for (const client of Object.values(clients)) client.kill()
  return results
}

function show (values) {
  return `${quantile(values, 0.5).toFixed(2)} (${quantile(values, 0.25).toFixed(2)} to ${quantile(values, 0.75).toFixed(2)})`
}

function quantile (values, part) {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? NaN
}
