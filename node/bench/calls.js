// The calls that the bench makes: by kind of body or library, with stock or with our Agent.

import http from 'node:http'
import { Readable } from 'node:stream'
import axios from 'axios'
import got from 'got'
import * as undici from 'undici'
import { Agent, HttpAgent } from '../src/index.js'

/** CPU time of the process before the measuring. With less, much of what is measured is the compiler: a hook brings code of its own. */
export const WARM_UP_CPU_MS = 2500

/** @param {any} ours our options, null for stock */
export function callOf (kind, connections, ours, url) {
  const bytes = Buffer.alloc(200, 'x')
  const text = 'x'.repeat(200)
  const small = Buffer.alloc(1000, 'x')
  const bodies = {
    string: () => text,
    buffer: () => bytes,
    form: () => { const form = new undici.FormData(); form.append('a', 'b'); form.append('c', 'd'.repeat(150)); return form },
    chunked: () => Readable.from((async function * () { for (let index = 0; index < 4; index++) yield Buffer.alloc(50) })()),
    many: async function * () { for (let index = 0; index < 20_000; index++) yield small }
  }
  if (kind in bodies || kind === 'fetch') {
    const dispatcher = ours === null ? new undici.Agent({ connections }) : new Agent({ connections, ...ours })
    if (kind === 'fetch') return async () => (await undici.fetch(url, { dispatcher, method: 'POST', body: bytes })).arrayBuffer()
    return async () => (await undici.request(url, { dispatcher, method: 'POST', body: bodies[kind]() })).body.dump()
  }
  const options = { keepAlive: true, maxSockets: connections, ...ours }
  const agent = ours === null ? new http.Agent(options) : new HttpAgent(options)
  if (kind === 'axios') return () => axios.post(url, bytes, { httpAgent: agent })
  if (kind === 'got') return () => got.post(url, { body: bytes, agent: { http: agent }, retry: { limit: 0 } })
  return () => new Promise((resolve, reject) => {
    http.request(url, { agent, method: 'POST' }, (response) => response.resume().on('end', resolve)).on('error', reject).end(bytes)
  })
}

/** @param {() => Promise<any>} call @param {number} callers */
export async function warmUp (call, callers) {
  const start = process.cpuUsage()
  const usedMs = () => { const { user, system } = process.cpuUsage(start); return (user + system) / 1000 }
  while (usedMs() < WARM_UP_CPU_MS) await slice(call, callers, 50)
}

/**
 * Makes calls for a given time, each caller one after the other.
 * @param {() => Promise<any>} call
 * @param {number} callers
 * @param {number} sliceMs
 * @returns {Promise<{count: number, rate: number, cpu: number}>} calls, calls per second, CPU µs per call
 */
export async function slice (call, callers, sliceMs) {
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  let count = 0
  const caller = async () => {
    while (performance.now() - start < sliceMs) {
      await call()
      count++
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const { user, system } = process.cpuUsage(cpu)
  return { count, rate: count / (performance.now() - start) * 1000, cpu: (user + system) / count }
}
