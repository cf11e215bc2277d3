// An origin in its own thread that answers a request when it has all of it, also while the client's thread is busy.

import { createHash } from 'node:crypto'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { startServer } from './server.js'
import { localhostIdentity } from './tap.js'

/** @param {{secure: boolean}} options */
export async function startAnswering ({ secure }) {
  const answered = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL(import.meta.url), { workerData: { secure, answered } })
  const { origin, ca } = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return {
    origin,
    ca,
    answers: () => Atomics.load(answered, 0),
    /** Blocks this thread until more than `count` answers have been sent, or `ms` are over. @returns {boolean} */
    block: (count, ms) => Atomics.wait(answered, 0, count, ms) !== 'timed-out',
    close: () => worker.terminate()
  }
}

function unchunked (body) {
  const chunks = []
  for (let at = 0; ;) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = parseInt(body.toString('latin1', at, lineEnd), 16)
    if (size === 0) return Buffer.concat(chunks)
    at = lineEnd + 2 + size + 2
    chunks.push(body.subarray(lineEnd + 2, at - 2))
  }
}

if (!isMainThread && workerData?.answered !== undefined) {
  const { secure, answered } = workerData
  const parts = new Map()
  const server = await startServer((socket, data) => {
    const all = Buffer.concat([parts.get(socket) ?? Buffer.alloc(0), data])
    parts.set(socket, all)
    const start = all.indexOf('\r\n\r\n') + 4
    if (start < 4) return
    const length = /\r\ncontent-length: (\d+)/i.exec(all.toString('latin1', 0, start))?.[1]
    const body = all.subarray(start)
    if (length === undefined ? !body.toString('latin1').endsWith('0\r\n\r\n') : body.length < Number(length)) return
    parts.delete(socket)
    const hash = createHash('sha1').update(length === undefined ? unchunked(body) : body).digest('hex')
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${hash.length}\r\n\r\n${hash}`, () => {
      Atomics.add(answered, 0, 1)
      Atomics.notify(answered, 0)
    })
  }, { secure })
  parentPort.postMessage({ origin: server.origin, ca: secure ? localhostIdentity().cert : undefined })
}
