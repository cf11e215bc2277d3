// node:http and node:https with an agent.

import http from 'node:http'
import https from 'node:https'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export const name = 'http'
export const types = { FormData: undefined }

/** @param {{httpAgent: http.Agent, httpsAgent: https.Agent, split?: boolean}} transport */
export function request (transport, { method, url, headers, body, signal, read }) {
  return new Promise((resolve, reject) => {
    const secure = url.startsWith('https:')
    const request = (secure ? https : http).request(url, {
      method, agent: secure ? transport.httpsAgent : transport.httpAgent, signal
    })
    request.on('error', reject)
    request.once('socket', keepDrain)
    // An upgrade without a listener ends with no event but close.
    let answered = false
    request.on('close', () => { if (!answered) reject(Object.assign(new Error('closed without an answer'), { code: 'UND_ERR_SOCKET' })) })
    try {
      for (const [key, value] of headers) request.appendHeader(key, value)
    } catch (error) {
      request.destroy(error)
      reject(error)
      return
    }
    request.on('response', (response) => {
      answered = true
      const parts = []
      const done = () => {
        const answer = { status: response.statusCode, headers: rawPairs(response.rawHeaders), body: Buffer.concat(parts) }
        // The request is closed some turns after its response has ended.
        if (request.closed) return resolve(answer)
        request.once('close', () => resolve(answer))
      }
      if (read === 'none') {
        response.on('error', () => {}).destroy()
        done()
        return
      }
      response.on('data', (part) => parts.push(part))
      response.on('end', () => response.complete ? done() : reject(Object.assign(new Error('the peer closed early'), { code: 'UND_ERR_SOCKET' })))
      response.on('error', reject)
    })
    if (headers.some(([key]) => key.toLowerCase() === 'expect')) {
      request.on('continue', () => sendBody(request, body, reject))
      // Node flushes the head before it has the body, so the program says how long it is.
      const known = typeof body === 'string' || body instanceof Uint8Array
      if (known && !['content-length', 'transfer-encoding'].some((name) => request.hasHeader(name))) {
        request.setHeader('Content-Length', Buffer.byteLength(body))
      }
      request.flushHeaders()
    } else if (transport.split) splitSend(request, body, reject)
    else sendBody(request, body, reject)
  })
}

// Node may lose the last 'drain' of an upload over TLS, which then never ends: the end of the response takes this
// listener off (socketOnData of lib/_http_client.js). A case that hangs compares nothing, so it is added again.
function keepDrain (socket) {
  const onDrain = socket.listeners('drain').find(({ name }) => name === 'ondrain')
  socket.on('drain', onDrain)
  this.once('close', () => socket.off('drain', onDrain))
}

function sendBody (request, body, reject) {
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) request.end(body)
  else if (body instanceof Readable) pipeline(body, request).catch(reject)
  else pipeline(Readable.from(body), request).catch(reject)
}

// Sends header and body in two writes. It waits for a connected socket, because what node:http queues before that leaves in
// one write.
function splitSend (request, body, reject) {
  const size = body === undefined ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
  if (size !== undefined && !request.hasHeader('content-length') && request.method !== 'GET') request.setHeader('content-length', size)
  request.once('socket', (socket) => {
    const go = () => {
      request.flushHeaders()
      sendBody(request, body, reject)
    }
    const connecting = socket.encrypted ? socket.secureConnecting : socket.connecting
    if (connecting) socket.once(socket.encrypted ? 'secureConnect' : 'connect', go)
    else go()
  })
}

export async function post (transport, url, method, body) {
  const response = await request(transport, { method, url, headers: [], body, signal: undefined, read: 'all' })
  return response.status
}

function rawPairs (raw) {
  const result = []
  for (let index = 0; index < raw.length; index += 2) result.push([raw[index], raw[index + 1]])
  return result
}
