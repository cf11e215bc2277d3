// Uploads that wait for 'drain' end, also when the answer is there before Node reports the last write as done. Stock may
// wait for ever then, over https on Node 20 even in a thread that is free; so nothing is compared with it.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, describe, test } from 'node:test'
import { guardNodeHttp, HttpAgent, HttpsAgent, unguardNodeHttp } from '../src/http/index.js'
import { startAnswering } from './support/answering.js'

// Around 16 KiB, which is a TLS record, the mark from which a socket waits (64 KiB from Node 22 on), and coalesceMax.
const SIZES = [
  [100], [100, 100], [16383], [16384], [16385], [16384, 1], [1, 16383, 1], [16384, 16384], [8000, 8000, 8000],
  [30000, 30000], [65535], [65536], [65536, 1], [1, 65536], [65536, 65536], [100, 40000, 100, 40000, 100]
]

/** @param {Promise<string>} upload */
async function within (upload, ms) {
  let timer
  const hung = new Promise((resolve) => { timer = setTimeout(resolve, ms, 'hung') })
  return Promise.race([upload, hung]).finally(() => clearTimeout(timer))
}

/** @type {Record<string, (request: http.ClientRequest, chunks: Buffer[]) => unknown>} */
const ways = {
  'piped, all at hand': (request, chunks) => pipeline(Readable.from(chunks), request),
  'piped, a generator': (request, chunks) => pipeline(Readable.from((async function * () { yield * chunks })()), request),
  'an iterable to pipeline': (request, chunks) => pipeline(async function * () { yield * chunks }, request),
  'by hand, waiting for drain': async (request, chunks) => {
    for (const chunk of chunks) if (!request.write(chunk)) await once(request, 'drain')
    request.end()
  },
  'by hand, a turn between': async (request, chunks) => {
    for (const chunk of chunks) {
      await new Promise(setImmediate)
      if (!request.write(chunk)) await once(request, 'drain')
    }
    request.end()
  },
  'by hand, without waiting': (request, chunks) => {
    for (const chunk of chunks) request.write(chunk)
    request.end()
  }
}

for (const secure of [false, true]) {
  const library = secure ? https : http
  describe(secure ? 'uploads over https' : 'uploads over http', { timeout: 300_000 }, () => {
    let server
    before(async () => { server = await startAnswering({ secure }) })
    after(() => server.close())

    /** @param {boolean} busy the thread is blocked after each write until the answer is there, or for some ms */
    async function upload (agent, send, chunks, length, busy) {
      const size = chunks.reduce((sum, { length }) => sum + length, 0)
      const request = library.request(server.origin, { agent, method: 'POST', headers: length ? { 'content-length': size } : {} })
      if (busy) {
        const { write } = request
        const answers = server.answers()
        let left = size
        request.write = (chunk) => {
          const more = write.call(request, chunk)
          left -= chunk.length
          // Node uncorks the socket in the next tick.
          if (left === 0) process.nextTick(() => process.nextTick(() => server.block(answers, 20)))
          return more
        }
      }
      const sent = Promise.resolve(send(request, chunks))
      const [response] = await once(request, 'response')
      const closed = once(request, 'close')
      response.setEncoding('latin1')
      let text = ''
      for await (const part of response) text += part
      await sent
      await closed
      return text
    }

    const hash = (chunks) => createHash('sha1').update(Buffer.concat(chunks)).digest('hex')

    /** @type {Record<string, () => http.Agent>} */
    const agents = {
      ours: () => new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1, ca: server.ca }),
      'ours without one write': () => new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1, ca: server.ca, coalesceDisabled: true }),
      'ours with hooks': () => new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1, ca: server.ca, onTiming () {} }),
      'stock under the guard': () => {
        guardNodeHttp()
        return new library.Agent({ keepAlive: true, maxSockets: 1, ca: server.ca })
      }
    }

    for (const [who, make] of Object.entries(agents)) {
      for (const [way, send] of Object.entries(ways)) {
        test(`${who}: ${way}`, async () => {
          const agent = make()
          try {
            for (const length of [true, false]) {
              // On Node 20 the guard has its effect after a first request.
              if (who === 'stock under the guard') await upload(agent, send, [Buffer.from('x')], length, false)
              for (const sizes of SIZES) {
                for (const busy of [true, false]) {
                  const chunks = sizes.map((size, index) => Buffer.alloc(size, 'abc'[index % 3]))
                  const name = `${sizes} ${length ? 'with' : 'without'} length${busy ? ', busy' : ''}`
                  assert.equal(await within(upload(agent, send, chunks, length, busy), 20_000), hash(chunks), name)
                }
              }
            }
          } finally {
            agent.destroy()
            unguardNodeHttp()
          }
        })
      }
    }
  })
}
