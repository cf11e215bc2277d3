// CPU of the client process for a POST of 200 bytes over loopback, as a ratio to stock. "stock again" is a second stock
// client: it shows the error of the other rows. Each client is a process; they take turns, one runs at a time.
// usage: node bench/bench.js [sets of processes] [rounds]
// Writes bench/RESULTS.md and bench/results.json, or ends with 2 where stock differs from stock by more than 3 %.

import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { callOf, slice, warmUp } from './calls.js'

const ME = fileURLToPath(import.meta.url)
const SLICE_MS = 50
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
const CLIENTS = [['undici × 50', 'buffer', 50, 10], ['node:http × 10', 'http', 10, 10]]
/** At most this many times stock. @type {Record<string, number[]>} */
const GOALS = { onewrite: [1.02, 1.03], on_timing: [1.1, 1.1], 'every event': [1.15, 1.15] }

if (process.argv[2] === 'client') await client(...process.argv.slice(3))
else process.exit(await main(Number(process.argv[2] ?? 3), Number(process.argv[3] ?? 32)))

/** A client: makes calls for as long as it is sent, each time that it is sent. */
async function client (index, variant, port) {
  const [, kind, callers, connections] = CLIENTS[index]
  const call = callOf(kind, connections, VARIANTS[variant], `http://127.0.0.1:${port}/`)
  await warmUp(call, callers)
  process.on('message', async (ms) => process.send?.(await slice(call, callers, ms)))
  process.send?.('ready')
}

async function main (sets, rounds) {
  const origin = fork(fileURLToPath(new URL('origin.js', import.meta.url)))
  pin(SERVER_CORE, origin)
  const [[port]] = await once(origin, 'message')
  const rows = []
  try {
    for (const index of CLIENTS.keys()) {
      const measured = []
      for (let set = 0; set < sets; set++) measured.push(...await measure(index, port, rounds, set))
      for (const variant of Object.keys(VARIANTS)) {
        const row = rowOf(index, variant, measured)
        console.log(`${row.name}: ${row.ratio} (${row.low} to ${row.high}), ${row.cpu} µs`)
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
async function measure (index, port, rounds, set) {
  const names = Object.keys(VARIANTS)
  // The order in which the processes start changes from set to set.
  const order = names.map((_, at) => names[(at + set * 2) % names.length])
  const clients = {}
  for (const name of order) {
    clients[name] = fork(ME, ['client', String(index), name, String(port)])
    pin(CLIENT_CORE, clients[name])
    await once(clients[name], 'message')
  }
  const run = async (name) => {
    clients[name].send(SLICE_MS)
    return (await once(clients[name], 'message'))[0].cpu
  }
  const measured = []
  for (let round = -4; round < rounds; round++) {
    const cpu = {}
    for (const at of names.keys()) {
      const name = names[(at + round + 4) % names.length]
      cpu[name] = await run(name)
    }
    // The first rounds warm the processes again that had to wait for the others.
    if (round >= 0) measured.push(cpu)
  }
  for (const each of Object.values(clients)) each.kill()
  return measured
}

function rowOf (index, variant, measured) {
  const at = (values, part) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * part)]
  const ratios = measured.map((cpu) => cpu[variant] / cpu.stock)
  const [low, ratio, high] = [0.25, 0.5, 0.75].map((part) => Number(at(ratios, part).toFixed(3)))
  const goal = GOALS[variant]?.[index] ?? ''
  return { name: `${variant}, ${CLIENTS[index]?.[0]}`, goal, ratio, low, high, cpu: Number(at(measured.map((cpu) => cpu[variant]), 0.5).toFixed(1)) }
}

function write (rows, sets, rounds) {
  const { version } = JSON.parse(readFileSync(new URL('../node_modules/undici/package.json', import.meta.url), 'utf8'))
  const [base, runtime, date] = [`undici ${version}`, `Node ${process.versions.node}`, new Date().toISOString().slice(0, 10)]
  const command = 'make -C node bench'
  const lines = rows.map(({ name, goal, ratio, low, high, cpu }) =>
    `| ${name} | ${cpu} | ${ratio.toFixed(2)} | ${low.toFixed(2)} to ${high.toFixed(2)} | ${goal} |`)
  writeFileSync(new URL('RESULTS.md', import.meta.url), `# Cost of the Node adapter

CPU of the client process for a POST of 200 bytes over loopback, as a ratio to stock: median of ${sets * rounds} paired slices of ${SLICE_MS} ms, quartiles behind. "stock again" is a second stock client and shows the error. × is the number of callers.

Made by \`${command}\` with ${runtime}, ${base}, on ${os.cpus().length} cores, ${date}.

| row | CPU µs | × stock | quartiles | goal |
|---|---:|---:|---|---|
${lines.join('\n')}
`)
  const json = { language: 'node', base, runtime, date, command, rows: rows.map(({ cpu, goal, ...row }) => row) }
  writeFileSync(new URL('results.json', import.meta.url), `${JSON.stringify(json, null, 2)}\n`)
}
