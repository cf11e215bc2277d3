// CPU of one call over sockets in memory, with undici or node:http whole: what this package adds, without the kernel's noise.
// The variants take turns, each in a new process. A process gives the least of its slices, the table the median process.
// node bench/memory.js [processes]
// Prints Markdown, as in bench/RESULTS.md.

import { spawnSync } from 'node:child_process'
import http from 'node:http'
import { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import * as undici from 'undici'
import { Agent, HttpAgent } from '../src/index.js'

const onTiming = () => {}
/** @type {Record<string, object | null>} */
const VARIANTS = { stock: null, 'no hook': {}, onTiming: { onTiming }, 'onTiming, every event': { onTiming, listener: { onEvent () {} } } }
/** Kinds of calls: connections and callers. @type {Record<string, [number, number]>} */
const KINDS = { undici: [10, 50], 'node:http': [10, 10] }
const [WARM_UP, SLICE, SLICES] = [50_000, 4000, 12]
const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ndate: Mon, 23 Nov 2026 12:00:00 GMT\r\nconnection: keep-alive\r\nkeep-alive: timeout=5\r\n\r\nok')

/** Answers each write. The handle has what Node's agent calls on a kept socket. */
class MemorySocket extends Duplex {
  connecting = false
  timeout = 0
  bytesRead = 0
  _handle = { writeQueueSize: 0, reading: true, readStart: () => 0, readStop: () => 0, asyncReset () {}, getAsyncId: () => 1, getProviderType: () => 1 }

  constructor () {
    super({ allowHalfOpen: false })
    // As many fields as a net.Socket: with few, the symbols that undici adds would make the object a dictionary.
    for (let index = 0; index < 30; index++) this[`field${index}`] = index
  }

  _read () {}

  _write (_chunk, _encoding, callback) { this._writev([], callback) }

  _writev (_chunks, callback) {
    callback()
    setImmediate(() => this.push(ANSWER))
  }

  setNoDelay () {}
  setKeepAlive () {}
  setTimeout () {}
  ref () {}
  unref () {}
}

if (process.argv[2] === 'client') await client(...process.argv.slice(3))
else main(Number(process.argv[2] ?? 5))

function main (processes) {
  console.log('## Over sockets in memory\n')
  console.log(`Made by \`node bench/memory.js ${processes}\` with Node ${process.versions.node}: CPU of a call, µs; the least of ${SLICES} slices, median of ${processes} processes.\n`)
  console.log(`| client | callers | ${Object.keys(VARIANTS).join(' | ')} |`)
  console.log(`|---|---|${'---|'.repeat(Object.keys(VARIANTS).length)}`)
  for (const [kind, [, callers]] of Object.entries(KINDS)) {
    const costs = Object.fromEntries(Object.keys(VARIANTS).map((name) => [name, /** @type {number[]} */ ([])]))
    for (let round = 0; round < processes; round++) {
      for (const name of Object.keys(VARIANTS)) {
        const { stdout } = spawnSync(process.execPath, ['--predictable', '--no-warnings', fileURLToPath(import.meta.url), 'client', kind, name], { encoding: 'utf8' })
        costs[name]?.push(Number(stdout))
      }
    }
    console.log(`| ${kind} | ${callers} | ${Object.values(costs).map((all) => all.sort((a, b) => a - b)[all.length >> 1]?.toFixed(1)).join(' | ')} |`)
  }
}

async function client (kind, name) {
  const [connections, callers] = KINDS[kind] ?? [1, 1]
  const call = callOf(kind, connections, VARIANTS[name])
  const run = async (calls) => {
    let left = calls
    const start = process.cpuUsage()
    await Promise.all(Array.from({ length: callers }, async () => { while (left-- > 0) await call() }))
    const { user, system } = process.cpuUsage(start)
    return (user + system) / calls
  }
  await run(WARM_UP)
  let least = Infinity
  for (let slice = 0; slice < SLICES; slice++) least = Math.min(least, await run(SLICE))
  process.stdout.write(String(least), () => process.exit(0))
}

function callOf (kind, connections, ours) {
  const [url, body] = ['http://127.0.0.1:8080/', Buffer.alloc(200, 'x')]
  if (kind === 'undici') {
    const connect = (_options, callback) => {
      const socket = new MemorySocket()
      queueMicrotask(() => callback(null, socket))
      return socket
    }
    const options = /** @type {any} */ ({ connections, connect, ...ours })
    const dispatcher = ours === null ? new undici.Agent(options) : new Agent(options)
    return async () => (await undici.request(url, { dispatcher, method: 'POST', body })).body.dump()
  }
  http.Agent.prototype.createConnection = () => /** @type {any} */ (new MemorySocket())
  const options = { keepAlive: true, maxSockets: connections, ...ours }
  const agent = ours === null ? new http.Agent(options) : new HttpAgent(options)
  return () => new Promise((resolve, reject) => {
    http.request(url, { agent, method: 'POST' }, (response) => response.resume().on('end', resolve)).on('error', reject).end(body)
  })
}
