// An origin in its own thread, for bytes that arrive while the client's thread is busy.

import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { OK, startServer } from './server.js'
import { localhostIdentity } from './tap.js'

const UNASKED = OK.replace('length: 2', 'length: 7').replace(/ok$/, 'unasked')

/** @param {{secure: boolean}} options */
export async function startOtherThread ({ secure }) {
  const taken = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL(import.meta.url), { workerData: { secure, taken } })
  const { origin, ca } = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return {
    origin,
    ca,
    /** Sends an answer that nobody asked for on the newest connection. Blocks this thread until the kernel has it. */
    sendUnasked () {
      Atomics.store(taken, 0, 0)
      worker.postMessage('send')
      if (Atomics.wait(taken, 0, 0, 60_000) === 'timed-out') throw new Error('the origin did not send')
    },
    close: () => worker.terminate()
  }
}

if (!isMainThread && workerData?.taken !== undefined) {
  const { secure, taken } = workerData
  let newest
  const server = await startServer((socket) => {
    newest = socket
    socket.write(OK)
  }, { secure })
  parentPort.on('message', () => newest.write(UNASKED, () => {
    Atomics.store(taken, 0, 1)
    Atomics.notify(taken, 0)
  }))
  parentPort.postMessage({ origin: server.origin, ca: secure ? localhostIdentity().cert : undefined })
}
