// Speed against stock, in one process and interleaved: short slices in turn, a ratio per round, its median.
// node bench/speed.js [rounds] [slice in ms]      absolute figures are of this machine and its load; ratios travel.
// The output is Markdown; bench/RESULTS.md is one such output.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import axios from 'axios'
import got from 'got'
import * as undici from 'undici'
import { Agent, HttpAgent } from '../src/index.js'

const ROUNDS = Number(process.argv[2] ?? 45)
const SLICE_MS = Number(process.argv[3] ?? 40)
const WARM_UP = 5

if (process.argv[2] === 'origin') await serveOrigin()
else await main()

/** Answers at once, in a process of its own. */
async function serveOrigin () {
  const server = http.createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-length': 2 }).end('ok'))
  })
  // For uploads: parsing thousands of chunks costs a real server more than sending them costs the client.
  const sink = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      if (data.subarray(-5).toString('latin1') === '0\r\n\r\n') socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
    })
  })
  await Promise.all([server, sink].map((each) => new Promise((resolve) => each.listen(0, '127.0.0.1', () => resolve(undefined)))))
  process.send?.([server, sink].map((each) => /** @type {net.AddressInfo} */ (each.address()).port))
}

async function main () {
  const origin = fork(fileURLToPath(import.meta.url), ['origin'])
  const [[port, sinkPort]] = /** @type {any} */ (await once(origin, 'message'))
  const url = `http://127.0.0.1:${port}/`
  console.log('# Speed of the Node adapter against stock\n')
  console.log(`Made by \`node bench/speed.js ${ROUNDS} ${SLICE_MS}\` with Node ${process.versions.node}, undici ${undiciVersion()}, on ${os.cpus().length} cores at load ${os.loadavg()[0]?.toFixed(1)}.`)
  console.log(`${ROUNDS - WARM_UP} rounds of ${SLICE_MS} ms per client, interleaved. Ratios are medians over the rounds, quartiles behind; above 1 is faster in req/s and dearer in CPU.\n`)
  console.log('| what | callers | stock | req/s | CPU µs/req | onewrite | req/s ratio | CPU ratio |')
  console.log('|---|---|---|---|---|---|---|---|')
  try {
    for (const [what, callers, variants] of scenarios(url, `http://127.0.0.1:${sinkPort}/`)) await compare(what, callers, variants)
  } finally {
    origin.kill()
  }
  process.exit(0)
}

function undiciVersion () {
  return JSON.parse(readFileSync(new URL('../node_modules/undici/package.json', import.meta.url), 'utf8')).version
}

/** @returns {[string, number, Record<string, () => Promise<any>>][]} the first variant is what the others are compared with */
function scenarios (url, sink) {
  const bytes = Buffer.alloc(200, 'x')
  const text = 'x'.repeat(200)
  const form = () => { const form = new undici.FormData(); form.append('a', 'b'); form.append('c', 'd'.repeat(150)); return form }
  const chunked = () => Readable.from((async function * () { for (let index = 0; index < 4; index++) yield Buffer.alloc(50) })())
  const small = Buffer.alloc(1000, 'x')
  const many = async function * () { for (let index = 0; index < 20_000; index++) yield small }
  const send = async (dispatcher, body, to = url) => { await (await undici.request(to, { dispatcher, method: 'POST', body: body() })).body.dump() }
  const pair = (connections, body, to = url) => {
    const [stock, ours] = [new undici.Agent({ connections }), new Agent({ connections })]
    return { undici: () => send(stock, body, to), onewrite: () => send(ours, body, to) }
  }
  const timed = (connections) => {
    const [stock, ours] = [new undici.Agent({ connections }), new Agent({ connections, onTiming () {} })]
    return { undici: () => send(stock, () => bytes), 'onTiming on': () => send(ours, () => bytes) }
  }
  const agents = (connections) => [new http.Agent({ keepAlive: true, maxSockets: connections }), new HttpAgent({ keepAlive: true, maxSockets: connections })]
  const library = (connections, call) => {
    const [stock, ours] = agents(connections)
    return { 'http.Agent': () => call(stock), HttpAgent: () => call(ours) }
  }
  return [
    ['undici.request, string 200 B', 1, pair(1, () => text)],
    ['undici.request, string 200 B', 50, pair(10, () => text)],
    ['undici.request, Buffer 200 B', 1, pair(1, () => bytes)],
    ['undici.request, Buffer 200 B', 50, pair(10, () => bytes)],
    ['Buffer with a hook', 1, timed(1)],
    ['Buffer with a hook', 50, timed(10)],
    ['undici.request, form', 10, pair(10, form)],
    ['undici.request, 4 chunks, chunked', 10, pair(10, chunked)],
    ['undici.request, 20 000 chunks of 1 kB to a sink', 1, pair(1, many, sink)],
    ['fetch, Buffer 200 B', 10, (() => {
      const [stock, ours] = [new undici.Agent({ connections: 10 }), new Agent({ connections: 10 })]
      const send = async (dispatcher) => (await undici.fetch(url, { dispatcher, method: 'POST', body: bytes })).arrayBuffer()
      return { 'undici.fetch': () => send(stock), onewrite: () => send(ours) }
    })()],
    ['node:http, Buffer 200 B', 10, library(10, (agent) => plain(url, agent, bytes))],
    ['axios, Buffer 200 B', 10, library(10, (agent) => axios.post(url, bytes, { httpAgent: agent }))],
    ['got, Buffer 200 B', 10, library(10, (agent) => got.post(url, { body: bytes, agent: { http: agent }, retry: { limit: 0 } }))]
  ]
}

function plain (url, agent, body) {
  return new Promise((resolve, reject) => {
    http.request(url, { agent, method: 'POST' }, (response) => response.resume().on('end', resolve)).on('error', reject).end(body)
  })
}

async function slice (call, callers) {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  let count = 0
  const caller = async () => {
    while (performance.now() - start < SLICE_MS) {
      await call()
      count++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const { user, system } = process.cpuUsage(cpu)
  return { rate: count / (performance.now() - start) * 1000, cpu: (user + system) / count }
}

async function compare (what, callers, variants) {
  const [base, other] = Object.keys(variants)
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 ? [base, other] : [other, base]
    const result = {}
    for (const name of order) result[name] = await slice(variants[name], callers)
    if (round >= WARM_UP) rounds.push(result)
  }
  const rates = rounds.map((round) => round[other].rate / round[base].rate)
  const cpus = rounds.map((round) => round[other].cpu / round[base].cpu)
  const show = (values) => `${quantile(values, 0.5).toFixed(2)} (${quantile(values, 0.25).toFixed(2)} to ${quantile(values, 0.75).toFixed(2)})`
  console.log(`| ${what} | ${callers} | ${base} | ${quantile(rounds.map((round) => round[base].rate), 0.5).toFixed(0)} | ${quantile(rounds.map((round) => round[base].cpu), 0.5).toFixed(0)} | ${other} | ${show(rates)} | ${show(cpus)} |`)
}

function quantile (values, part) {
  return [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)] ?? NaN
}
