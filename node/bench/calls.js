// The calls that the bench makes: by kind of body or library, with stock or with our Agent.

import http from 'node:http'
import * as undici from 'undici'
import { Agent, HttpAgent } from '../src/index.js'

/** Least and most CPU time of the process before the measuring, ms. */
const WARM_UP_MS = [2000, 5000]
/** The compiler has done its work when the costs of two halves of the warm-up differ by no more than this. */
const SETTLED = 0.02

/** @param {any} ours our options, null for stock */
export function callOf (kind, connections, ours, url) {
  const body = Buffer.alloc(200, 'x')
  if (kind === 'buffer') {
    const dispatcher = ours === null ? new undici.Agent({ connections }) : new Agent({ connections, ...ours })
    return async () => (await undici.request(url, { dispatcher, method: 'POST', body })).body.dump()
  }
  const options = { keepAlive: true, maxSockets: connections, ...ours }
  const agent = ours === null ? new http.Agent(options) : new HttpAgent(options)
  return () => new Promise((resolve, reject) => {
    http.request(url, { agent, method: 'POST' }, (response) => response.resume().on('end', resolve)).on('error', reject).end(body)
  })
}

/**
 * Makes calls until the costs of the first and of the second half of the last ones agree.
 * @param {() => Promise<any>} call @param {number} callers
 */
export async function warmUp (call, callers) {
  const start = process.cpuUsage()
  const usedMs = () => { const { user, system } = process.cpuUsage(start); return (user + system) / 1000 }
  const [least, most] = WARM_UP_MS
  /** @type {number[]} */
  const costs = []
  const median = (part) => part.toSorted((a, b) => a - b)[part.length >> 1]
  const isSettled = () => {
    const last = costs.slice(-40)
    return last.length === 40 && Math.abs(median(last.slice(20)) / median(last.slice(0, 20)) - 1) <= SETTLED
  }
  while (usedMs() < most && (usedMs() < least || !isSettled())) costs.push((await slice(call, callers, 40)).cpu)
}

/**
 * Makes calls for a given time, each caller one after the other.
 * @param {() => Promise<any>} call
 * @param {number} callers
 * @param {number} sliceMs
 * @returns {Promise<{count: number, cpu: number}>} calls, CPU µs per call
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
  return { count, cpu: (user + system) / count }
}
