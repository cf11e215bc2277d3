// The CPU that a POST of 200 bytes over loopback costs the client, beside stock and beside OpenTelemetry's instrumentation.
// Each variant is a process (client.js), the server another. One process of each variant make a group: they warm up one by
// one, then take turns in a new order each time, so what disturbs the machine reaches all of them. The ratio of a group compares
// the CPU of all turns with that of its stock, garbage collection with it. Memory layout alone makes processes differ, so there are
// several groups with new processes: a row is the median group, the lowest and the highest.
// "stock again" is a second process of stock. Where it differs by more than 3 % the figures are not publishable, and the end is 2.
// usage: node bench/bench.js [--quick]
// Writes RESULTS.md, results.json and results-http.json beside it. --quick only shows that it works, and writes nothing.

import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'

const QUICK = process.argv.includes('--quick')
/** Least and most groups; between them a group begins only in the first so many ms. */
const [GROUPS, MOST_GROUPS, BEGIN_MS] = QUICK ? [1, 1, 0] : [5, 7, 210_000]
/** Turns of a process, and those before them that do not count: V8 gives back memory while a process waits for its turn. */
const [TURNS, UNMEASURED] = QUICK ? [4, 1] : [12, 2]
const CALLS = 1000
/** Least and most CPU of a warm-up, ms. */
const WARM_UP_MS = QUICK ? [300, 600] : [1200, 4000]
const MOST_ERROR = 0.03
const [CLIENT_CORE, SERVER_CORE] = [0, 1]
const COMMAND = 'make -C node bench'
const VARIANTS = ['stock', 'stock again', 'onewrite', 'on_timing', 'OpenTelemetry']
const { version } = JSON.parse(readFileSync(new URL('../node_modules/undici/package.json', import.meta.url), 'utf8'))
/** Goals are at most this many times stock. */
const LIBRARIES = [
  { library: 'undici', base: `undici ${version}`, callers: 50, file: 'results.json', goals: { onewrite: 1, on_timing: 1.05 } },
  { library: 'http', base: 'node:http', callers: 10, file: 'results-http.json', goals: { onewrite: 1.02, on_timing: 1.08 } }
]

process.exit(await main())

async function main () {
  const about = { runtime: `Node ${process.versions.node}`, commit: commit(), date: new Date().toISOString().slice(0, 10), command: COMMAND }
  const origin = started(SERVER_CORE, 'origin.js')
  const [port] = await once(origin, 'message')
  const groups = LIBRARIES.map(() => [])
  for (let group = 0; group < GROUPS || (group < MOST_GROUPS && performance.now() < BEGIN_MS); group++) {
    for (const [index, { library, callers }] of LIBRARIES.entries()) groups[index]?.push(await measure(library, callers, `http://127.0.0.1:${port}/`))
  }
  stop(origin)
  const results = LIBRARIES.map(({ base, callers, goals }, index) =>
    ({ language: 'node', base, ...about, rows: VARIANTS.map((variant) => rowOf(variant, callers, goals[variant], groups[index])) }))
  console.log(results.map((result) => `${titleOf(result)}\n\n${table(result)}\n\n${verdict(result)}\n`).join('\n'))
  if (QUICK) console.log('A quick run: the figures say nothing, and nothing is written.')
  else write(results)
  return QUICK || results.every(isPublishable) ? 0 : 2
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
async function measure (library, callers, url) {
  const clients = {}
  const cpu = {}
  for (const variant of shuffled(VARIANTS)) {
    clients[variant] = started(CLIENT_CORE, 'client.js', library, variant, callers, url, ...WARM_UP_MS)
    await once(clients[variant], 'message')
    cpu[variant] = 0
  }
  for (let turn = -UNMEASURED; turn < TURNS; turn++) {
    // In a fixed order each variant would always find the caches as the same other one left them.
    for (const variant of shuffled(VARIANTS)) {
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

function rowOf (variant, callers, goal, groups) {
  const ratios = groups.map((cpu) => cpu[variant] / cpu.stock)
  const [ratio, min, max] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((value) => Number(value.toFixed(3)))
  return { name: `${variant}, ${callers} callers`, ratio, min, max, n: ratios.length, goal, cpu_us: groups.map((cpu) => Number(cpu[variant].toFixed(2))) }
}

function errorOf ({ rows }) {
  return Math.abs(rows.find(({ name }) => name.startsWith('stock again')).ratio - 1)
}

function isPublishable (result) {
  return errorOf(result) <= MOST_ERROR
}

function verdict (result) {
  return `Stock differs from stock by ${(errorOf(result) * 100).toFixed(1)} %` +
    (isPublishable(result) ? '.' : `, more than ${MOST_ERROR * 100} %: **these figures are not publishable**.`)
}

function titleOf ({ base, rows }) {
  return `## ${base},${rows[0].name.split(',')[1]}`
}

function table ({ rows }) {
  const lines = rows.map(({ name, n, ratio, min, max, goal, cpu_us: cpu }) =>
    `| ${name.split(',')[0]} | ${n} | ${median(cpu).toFixed(1)} | ${ratio.toFixed(2)} | ${min.toFixed(2)}–${max.toFixed(2)} | ${goal?.toFixed(2) ?? ''} |`)
  return ['| row | n | CPU µs | × stock | lowest–highest | goal |', '|---|---:|---:|---:|---|---:|', ...lines].join('\n')
}

function write (results) {
  for (const [index, result] of results.entries()) {
    writeFileSync(new URL(LIBRARIES[index]?.file ?? '', import.meta.url), `${JSON.stringify(result, null, 1)}\n`)
  }
  const [{ runtime, commit, date }] = results
  const sections = results.map((result) => `${titleOf(result)}\n\n${verdict(result)}\n${isPublishable(result) ? `\n${table(result)}\n` : ''}`)
  writeFileSync(new URL('RESULTS.md', import.meta.url), `# Cost of the Node adapter

CPU of the client's process for a POST of 200 bytes over loopback, as a ratio to stock. "stock again" is a second process of stock: its ratio is the error of the method. "OpenTelemetry" is its instrumentation with its SDK and no exporter.

n groups of processes, one per variant; ${TURNS} turns of ${CALLS} calls each, after a warm-up. A row is the median group, the lowest and the highest. [results.json](results.json) and [results-http.json](results-http.json) have the CPU of each process.

\`${COMMAND}\`, commit ${commit}, ${date}, ${runtime}, ${os.cpus().length} cores.

${sections.join('\n')}`)
}
