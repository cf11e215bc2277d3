// CPU of the client for a POST of 200 bytes over loopback, as a ratio to stock. "stock again" is a second stock client: it
// shows the error of the other rows. All clients live in one process and take turns with short slices, in a new order each
// round: processes of one variant differ by more than a hook costs, and slices of one process do not. The price: they share
// the compiled code of undici or node:http. Each set is a new process; a row is the median set, the least and the most.
// usage: node bench/bench.js [sets] [rounds]
// Writes bench/RESULTS.md and bench/results.json, or ends with 2 where stock differs from stock by more than 3 %.

import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { callOf, slice, warmUp } from './calls.js'

const ME = fileURLToPath(import.meta.url)
const SLICE_MS = 50
/** Rounds before the measuring, because the compiler may go on when variants take turns. */
const UNMEASURED = 8
/** A set takes no longer, ms. */
const MOST_MS = 300_000
const MOST_ERROR = 0.03
const [CLIENT_CORE, SERVER_CORE] = [0, 1]
const onTiming = () => {}
/** @type {Record<string, object | null>} */
const VARIANTS = {
  stock: null,
  'stock again': null,
  onewrite: {},
  on_timing: { onTiming },
  'every event': { onTiming, listener: { onEvent () {} } }
}
/** Name, kind of call, callers, connections. @type {[string, string, number, number][]} */
const CLIENTS = [['undici, 50 callers', 'buffer', 50, 10], ['node:http, 10 callers', 'http', 10, 10]]
/** At most this many times stock. @type {Record<string, number[]>} */
const GOALS = { onewrite: [1.02, 1.03], on_timing: [1.1, 1.1], 'every event': [1.15, 1.15] }
const NAMES = Object.keys(VARIANTS)

if (process.argv[2] === 'set') await runSet(Number(process.argv[3]), Number(process.argv[4]), process.argv[5])
else process.exit(await main(Number(process.argv[2] ?? 7), Number(process.argv[3] ?? 40)))

/** One set: sends its parent the CPU of a call of each variant by round, µs. */
async function runSet (index, rounds, port) {
  const [, kind, callers, connections] = CLIENTS[index]
  const calls = Object.fromEntries(shuffled(NAMES).map((name) =>
    [name, callOf(kind, connections, VARIANTS[name], `http://127.0.0.1:${port}/`)]))
  const round = async () => {
    const cpu = {}
    // In a fixed order each variant would always run behind the same one, whose garbage it has to collect.
    for (const name of shuffled(NAMES)) cpu[name] = (await slice(calls[name], callers, SLICE_MS)).cpu
    return cpu
  }
  await warmUp(() => calls[shuffled(NAMES)[0]](), callers)
  const measured = []
  while (measured.length < rounds + UNMEASURED) measured.push(await round())
  process.send?.(measured.slice(UNMEASURED), () => process.exit())
}

async function main (sets, rounds) {
  const origin = fork(fileURLToPath(new URL('origin.js', import.meta.url)))
  pin(SERVER_CORE, origin)
  const [[port]] = await once(origin, 'message')
  const rows = []
  try {
    for (const index of CLIENTS.keys()) {
      const measured = []
      for (let set = 0; set < sets; set++) measured.push(await measure(index, port, rounds))
      for (const variant of NAMES) {
        const row = rowOf(index, variant, measured)
        console.log(`${row.name}: ${row.ratio} (${row.min} to ${row.max}), ${row.cpu} µs`)
        rows.push(row)
      }
    }
  } finally {
    origin.kill()
  }
  const unsure = rows.find(({ name, ratio }) => name.startsWith('stock again') && Math.abs(ratio - 1) > MOST_ERROR)
  if (unsure !== undefined) {
    console.error(`not written: stock differs from itself by more than ${MOST_ERROR * 100} % (${unsure.name}: ${unsure.ratio})`)
    return 2
  }
  write(rows, sets, rounds)
  return 0
}

/** Without it the scheduler puts client and server now on one core and now on two, which is most of the noise. */
function pin (core, { pid }) {
  try {
    if (os.availableParallelism() > 1) execFileSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' })
  } catch {}
}

/** @returns {Promise<Record<string, number>[]>} by round: the CPU of a call of each variant, µs */
async function measure (index, port, rounds) {
  const child = fork(ME, ['set', String(index), String(rounds), String(port)])
  pin(CLIENT_CORE, child)
  return (await once(child, 'message', { signal: AbortSignal.timeout(MOST_MS) }))[0]
}

function shuffled (names) {
  const left = [...names]
  return names.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0])
}

function median (values) {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]
}

/** @param {Record<string, number>[][]} measured by set and round */
function rowOf (index, variant, measured) {
  const ratios = measured.map((set) => median(set.map((cpu) => cpu[variant] / cpu.stock)))
  const [min, ratio, max] = [Math.min(...ratios), median(ratios), Math.max(...ratios)].map((value) => Number(value.toFixed(3)))
  const cpu = Number(median(measured.flat().map((each) => each[variant])).toFixed(1))
  return { name: `${variant}, ${CLIENTS[index]?.[0]}`, goal: GOALS[variant]?.[index] ?? '', ratio, min, max, n: ratios.length, cpu }
}

function write (rows, sets, rounds) {
  const { version } = JSON.parse(readFileSync(new URL('../node_modules/undici/package.json', import.meta.url), 'utf8'))
  const [base, runtime, date] = [`undici ${version}`, `Node ${process.versions.node}`, new Date().toISOString().slice(0, 10)]
  const command = 'make -C node bench'
  const commit = execFileSync('git', ['describe', '--always', '--dirty=+', '--exclude=*'], { encoding: 'utf8' }).trim()
  const lines = rows.map(({ name, goal, ratio, min, max, cpu }) =>
    `| ${name} | ${cpu} | ${ratio.toFixed(2)} | ${min.toFixed(2)} to ${max.toFixed(2)} | ${goal} |`)
  writeFileSync(new URL('RESULTS.md', import.meta.url), `# Cost of the Node adapter

CPU of the client for a POST of 200 bytes over loopback, as a ratio to stock. "stock again" is a second stock client and shows the error.

The five clients take turns in one process, in slices of ${SLICE_MS} ms, in a new order each round. So they share heap and compiled code; processes of their own differ by more than the cost. A row is the median of ${sets} processes with ${rounds} rounds each, the least and the most.

Made by \`${command}\` with ${runtime}, ${base}, on ${os.cpus().length} cores, commit ${commit}, ${date}.

| row | CPU µs | × stock | range | goal |
|---|---:|---:|---|---|
${lines.join('\n')}
`)
  const json = { language: 'node', base, runtime, commit, date, command, rows: rows.map(({ cpu, goal, ...row }) => row) }
  writeFileSync(new URL('results.json', import.meta.url), `${JSON.stringify(json, null, 2)}\n`)
}
