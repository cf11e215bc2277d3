// The CPU that a request over loopback costs the client, beside stock and, for a POST of 200 bytes, OpenTelemetry's instrumentation.
// Each variant is a process (client.js), the server another. One process of each variant make a group: they warm up one by
// one, then take turns in a new order each time, so what disturbs the machine reaches all of them. The ratio of a group compares
// the CPU of all turns with that of its stock, garbage collection with it. Memory layout alone makes processes differ, so there are
// several groups with new processes: a row is the median group, the lowest and the highest.
// "stock again" is a second process of stock. Where it differs by more than 3 % the figures are not publishable, and the end is 2.
// usage: [N=5] node bench/bench.js [--quick]; N is the number of groups.
// Writes RESULTS.md, results.json and results-http.json beside it. --quick only shows that it works, and writes nothing.

import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'

const QUICK = process.argv.includes('--quick')
const GROUPS = QUICK ? 1 : Number(process.env.N || 5)
/** Turns of a process, and those before them that do not count: V8 gives back memory while a process waits for its turn. */
const [TURNS, UNMEASURED] = QUICK ? [2, 0] : [12, 2]
const CALLS = QUICK ? 200 : 1000
/** Least and most CPU of a warm-up, ms. */
const WARM_UP_MS = QUICK ? [50, 100] : [1200, 4000]
const MOST_ERROR = 0.03
const [CLIENT_CORE, SERVER_CORE] = [0, 1]
const COMMAND = 'make -C node bench'
const VARIANTS = ['stock', 'stock again', 'onewrite', 'on_timing']
const USUAL = '200 B'
/** By request, as client.js knows it. @type {Record<string, string[]>} */
const REQUESTS = { [USUAL]: [...VARIANTS, 'OpenTelemetry'], '20 kB': VARIANTS, GET: VARIANTS, TLS: VARIANTS }
const { version } = JSON.parse(readFileSync(new URL('../node_modules/undici/package.json', import.meta.url), 'utf8'))
/** Goals are at most this many times stock, for 200 bytes. */
const LIBRARIES = [
  { library: 'undici', base: `undici ${version}`, callers: 50, file: 'results.json', goals: { onewrite: 1, on_timing: 1.05 } },
  { library: 'http', base: 'node:http', callers: 10, file: 'results-http.json', goals: { onewrite: 1.02, on_timing: 1.08 } }
]

process.exit(await main())

async function main () {
  const about = { runtime: `Node ${process.versions.node}`, commit: commit(), date: new Date().toISOString().slice(0, 10), command: COMMAND }
  const origin = started(SERVER_CORE, 'origin.js')
  const [urls] = await once(origin, 'message')
  const sections = LIBRARIES.flatMap((of) => Object.keys(REQUESTS).map((request) => ({ ...of, request, groups: /** @type {any[]} */ ([]) })))
  for (let group = 0; group < GROUPS; group++) {
    for (const { library, request, callers, groups } of sections) groups.push(await measure(library, request, callers, urls[request] ?? urls.plain))
  }
  stop(origin)
  const results = LIBRARIES.map(({ library, base, callers }) =>
    ({ language: 'node', base, callers, ...about, rows: sections.filter((section) => section.library === library).flatMap(rowsOf) }))
  console.log(results.map((result) => page(result, true)).join('\n'))
  if (QUICK) console.log('A quick run: the figures say nothing, and nothing is written.')
  else write(results)
  return QUICK || results.every((result) => Object.keys(REQUESTS).every((request) => isPublishable(result, request))) ? 0 : 2
}

/** The commit of the checkout; a + says that sources differ from it. */
function commit () {
  const git = (...words) => execFileSync('git', words, { cwd: fileURLToPath(new URL('..', import.meta.url)), encoding: 'utf8' }).trim()
  try {
    return git('rev-parse', '--short=8', 'HEAD') + (git('status', '--porcelain', '--untracked-files=no', 'src', 'bench/*.js') && '+')
  } catch {
    return 'unknown'
  }
}

/** Starts a process on the given core. Without that, client and server share a core at times, which is most of the noise. */
function started (core, file, ...words) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), words.map(String))
  child.on('exit', (status) => { if (status) process.exit(1) })
  try {
    if (os.availableParallelism() > 1) execFileSync('taskset', ['-acp', String(core), String(child.pid)], { stdio: 'ignore' })
  } catch {}
  return child
}

function stop (child) {
  child.removeAllListeners('exit')
  child.kill()
}

/** @returns {Promise<Record<string, number>>} by variant: the CPU of a call, µs */
async function measure (library, request, callers, url) {
  const clients = {}
  const cpu = {}
  for (const variant of shuffled(REQUESTS[request])) {
    clients[variant] = started(CLIENT_CORE, 'client.js', library, request, variant, callers, url, ...WARM_UP_MS)
    await once(clients[variant], 'message')
    cpu[variant] = 0
  }
  for (let turn = -UNMEASURED; turn < TURNS; turn++) {
    // In a fixed order each variant would always find the caches as the same other one left them.
    for (const variant of shuffled(REQUESTS[request])) {
      clients[variant].send(CALLS)
      const [used] = await once(clients[variant], 'message')
      if (turn >= 0) cpu[variant] += used / CALLS / TURNS
    }
  }
  Object.values(clients).forEach(stop)
  return cpu
}

function shuffled (names) {
  const left = [...names]
  return names.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0])
}

function median (values) {
  const sorted = values.toSorted((a, b) => a - b)
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2
}

function rowsOf ({ request, goals, groups }) {
  return (REQUESTS[request] ?? []).map((variant) => {
    const ratios = groups.map((cpu) => cpu[variant] / cpu.stock)
    const [ratio, min, max] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((value) => Number(value.toFixed(3)))
    const [name, goal] = request === USUAL ? [variant, goals[variant]] : [`${variant}, ${request}`, undefined]
    return { name, ratio, min, max, n: ratios.length, goal, cpu_us: groups.map((cpu) => Number(cpu[variant].toFixed(2))) }
  })
}

function rowsFor ({ rows }, request) {
  return rows.filter(({ name }) => (name.split(', ')[1] ?? USUAL) === request)
}

function errorOf (result, request) {
  return Math.abs(rowsFor(result, request).find(({ name }) => name.startsWith('stock again')).ratio - 1)
}

function isPublishable (result, request) {
  return errorOf(result, request) <= MOST_ERROR
}

function verdict (result, request) {
  return `Stock differs from stock by ${(errorOf(result, request) * 100).toFixed(1)} %` +
    (isPublishable(result, request) ? '.' : `, more than ${MOST_ERROR * 100} %: **these figures are not publishable**.`)
}

function table (result, request) {
  const noise = errorOf(result, request).toFixed(2)
  const lines = rowsFor(result, request).map(({ name, n, ratio, goal, cpu_us: cpu }) =>
    `| ${name.split(',')[0]} | ${median(cpu).toFixed(1)} | ${ratio.toFixed(2)} | ±${noise} | ${n} | ${goal?.toFixed(2) ?? ''} |`)
  return ['| row | CPU, µs | factor | noise | n | goal |', '|---|---:|---:|---:|---:|---:|', ...lines].join('\n')
}

/** @param {any} result @param {boolean} [all] also what is not publishable */
function page (result, all) {
  const sections = Object.keys(REQUESTS).map((request) =>
    `### ${request}\n\n${verdict(result, request)}\n${all || isPublishable(result, request) ? `\n${table(result, request)}\n` : ''}`)
  return `## ${result.base}, ${result.callers} callers\n\n${sections.join('\n')}`
}

function write (results) {
  for (const [index, result] of results.entries()) {
    writeFileSync(new URL(LIBRARIES[index]?.file ?? '', import.meta.url), `${JSON.stringify(result, null, 1)}\n`)
  }
  const [{ runtime, commit, date }] = results
  writeFileSync(new URL('RESULTS.md', import.meta.url), `# Cost of the Node adapter

The tables show the CPU of the client's process for a request over loopback: a POST of 200 bytes, of 20 kB, a GET, and a POST of 200 bytes over TLS. *factor* is relative to stock (1.00 = no cost), the median of *n* groups of processes, one per variant, with ${TURNS} turns of ${CALLS} requests each. *noise* measures stock twice: the distance of the second from 1.00. "OpenTelemetry" is its instrumentation with its SDK and no exporter. [results.json](results.json) and [results-http.json](results-http.json) have the CPU of each process.

\`${COMMAND}\`, commit ${commit}, ${date}, ${runtime}, ${os.cpus().length} cores.

${results.map((result) => page(result)).join('\n')}`)
}
