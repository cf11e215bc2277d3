// The debugging aid, on a socket whose bytes Nagle's algorithm holds, and on one with a slow server.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test } from 'node:test'
import { nowNs } from '../src/timing/clock.js'
import { explainWait, readBySs, readKernel } from '../src/probe.js'
import { tcpInfoReader } from '../src/timing/tcp-info.js'

/** One exchange on a kept connection: head and body in one write or in two. */
async function exchange (socket, split) {
  const before = readKernel(socket)
  if (split) {
    socket.write('head')
    await new Promise((resolve) => setImmediate(resolve))
    socket.write('body')
  } else socket.write('headbody')
  const requestEndNs = nowNs()
  await once(socket, 'data')
  const responseStartNs = nowNs()
  const after = readKernel(socket)
  return { ...explainWait(before, after, { requestEndNs, responseStartNs }), readingNs: nowNs() - responseStartNs }
}

async function withServer (delayMs, run) {
  const server = net.createServer((socket) => {
    let size = 0
    socket.on('error', () => {})
    socket.on('data', (data) => {
      size += data.length
      if (size < 8) return
      size = 0
      setTimeout(() => socket.write('ok'), delayMs)
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const socket = net.connect({ port: /** @type {net.AddressInfo} */ (server.address()).port, host: '127.0.0.1', noDelay: false })
  await once(socket, 'connect')
  try {
    await run(socket)
  } finally {
    socket.destroy()
    server.close()
  }
}

/** Exchanges whose readings took so little time that the kernel's milliseconds can be placed on the clock of this process. */
async function exactExchanges (socket, count) {
  const exact = []
  for (let round = 0; round < 200 && exact.length < count; round++) {
    const one = await exchange(socket, false)
    if (one.readingNs < 30e6) exact.push(one)
  }
  return exact
}

const most = (values) => values.sort((a, b) => values.filter((each) => each === b).length - values.filter((each) => each === a).length)[0]

test('two writes with Nagle on: held by the kernel', () => withServer(0, async (socket) => {
  // A busy machine also delays the reading of TCP_INFO, so the cause must be named several times, not each time.
  const causes = []
  const named = () => causes.filter((cause) => cause === 'nagle_delayed_ack').length
  while (named() < 4 && causes.length < 100) causes.push((await exchange(socket, true)).cause)
  assert.equal(named(), 4, String(causes))
}))

test('one write to a slow server: the server', () => withServer(60, async (socket) => {
  const seen = await exactExchanges(socket, 8)
  assert.equal(most(seen.map(({ cause }) => cause)), 'server')
  assert.equal(most(seen.map(({ segmentsOut }) => segmentsOut)), 1)
}))

test('both ways of reading agree', { skip: tcpInfoReader() === null && 'this Node has no node:ffi' }, () => withServer(0, async (socket) => {
  for (let round = 0; round < 5; round++) await exchange(socket, false)
  const [direct, bySs] = [readKernel(socket), readBySs(socket)]
  for (const field of ['segmentsOut', 'retransmits', 'minRttUs', 'rwndLimitedMs']) assert.equal(direct[field], bySs[field], field)
  assert.equal(direct.segmentsOut, 5)
  assert.ok(Math.abs(direct.lastSentNs - bySs.lastSentNs) < 1e9)
}))

test('without node:ffi it runs ss, with it it starts no process', () => {
  const has = process.getBuiltinModule?.('node:ffi') !== undefined
  assert.equal(tcpInfoReader() !== null, has)
})

test('without evidence there is a clear error', () => {
  assert.throws(() => readKernel(/** @type {any} */ ({ localPort: 1, remotePort: 1 })), { code: 'ONEWRITE_NO_EVIDENCE', message: /port 1 to port 1/ })
})

test('the rule, case by case', () => {
  const base = { segmentsOut: 0, retransmits: 0, rttUs: 1, rwndLimitedMs: 0, lastSentNs: 0 }
  const cause = (after, waitMs, said) =>
    explainWait(base, { ...base, ...after }, { requestEndNs: 0, responseStartNs: waitMs * 1e6, ...said }).cause
  assert.equal(cause({ lastSentNs: 41e6 }, 42), 'nagle_delayed_ack')
  assert.equal(cause({ lastSentNs: 210e6, retransmits: 1 }, 215), 'retransmit')
  assert.equal(cause({ lastSentNs: 60e6, rwndLimitedMs: 58 }, 61), 'peer_window')
  assert.equal(cause({ lastSentNs: 60e6, rwndLimitedMs: 58, retransmits: 1 }, 61), 'peer_window')
  assert.equal(cause({ lastSentNs: 41e6 }, 42, { writes: 2, nodelay: false }), 'nagle_delayed_ack')
  assert.equal(cause({ lastSentNs: 41e6 }, 42, { writes: 1 }), undefined)
  assert.equal(cause({ lastSentNs: 41e6 }, 42, { nodelay: true }), undefined)
  assert.equal(cause({ lastSentNs: -1e6 }, 50), 'server')
  assert.equal(cause({ lastSentNs: 0 }, 5), undefined)
})
