// A server that counts, per request, data segments (tcpi_data_segs_in of the receiving kernel, which tcp_info.py reads)
// and TLS application records, and keeps the bytes.
//
// The count is read when a request is complete, before it is answered: later it could include the next request.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { fileURLToPath } from 'node:url'

let identity

/** A certificate for localhost, made once per process. */
export function localhostIdentity () {
  if (identity === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'onewrite-test-'))
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
      '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' })
    identity = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
    rmSync(folder, { recursive: true })
  }
  return identity
}

/** The pipes to and from tcp_info.py, one process for all readings of this one. @type {{ask: number, answer: number} | undefined} */
let kernel

function startKernel () {
  const folder = mkdtempSync(join(tmpdir(), 'onewrite-test-'))
  execFileSync('python3', [fileURLToPath(new URL('tcp_info.py', import.meta.url)), folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  const pipes = { ask: openSync(join(folder, 'ask'), 'w'), answer: openSync(join(folder, 'answer'), 'r') }
  rmSync(folder, { recursive: true })
  return pipes
}

/** Data segments that the kernel has received on a connection. Waits for the answer: nothing else happens meanwhile. */
function segmentsIn (socket) {
  kernel ??= startKernel()
  writeSync(kernel.ask, `${socket.localPort} ${socket.remotePort}\n`)
  const answer = Buffer.alloc(32)
  const size = readSync(kernel.answer, answer)
  assert.ok(size > 0, 'tcp_info.py has ended')
  return Number(answer.toString('latin1', 0, size))
}

/** Finds the end of the first message in `buffer`. @returns {{head: string, body: Buffer, rest: Buffer} | null} */
function takeMessage (buffer) {
  const headEnd = buffer.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const head = buffer.subarray(0, headEnd).toString('latin1')
  const start = headEnd + 4
  if (/\r\ntransfer-encoding: chunked/i.test(head)) {
    const parts = []
    for (let at = start; ;) {
      const lineEnd = buffer.indexOf('\r\n', at)
      if (lineEnd < 0) return null
      const size = Number.parseInt(buffer.subarray(at, lineEnd).toString('latin1'), 16)
      if (buffer.length < lineEnd + 2 + size + 2) return null
      parts.push(buffer.subarray(lineEnd + 2, lineEnd + 2 + size))
      at = lineEnd + 2 + size + 2
      if (size === 0) return { head, body: Buffer.concat(parts), rest: buffer.subarray(at) }
    }
  }
  const size = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  if (buffer.length < start + size) return null
  return { head, body: buffer.subarray(start, start + size), rest: buffer.subarray(start + size) }
}

/**
 * @param {{secure?: boolean, count?: boolean, answer?: (request: {head: string, body: Buffer, socket: import('node:net').Socket}) => void}} [options]
 *   `answer` replaces the plain 200; `count: false` counts no segments
 */
export async function startTap ({ secure = false, count = true, answer = reply() } = {}) {
  const requests = []
  const sockets = new Set()
  const watched = new Map() // inner port -> the counted socket

  const serve = (socket, counted) => {
    let buffer = Buffer.alloc(0)
    let before = null
    socket.on('error', () => {})
    socket.on('data', (data) => {
      buffer = Buffer.concat([buffer, data])
      for (let message = takeMessage(buffer); message !== null; message = takeMessage(buffer)) {
        buffer = message.rest
        const wire = counted()
        const total = count ? segmentsIn(wire.socket) : 0
        // The first request on a TLS 1.3 connection follows a handshake: an unknown number of segments, and one encrypted
        // record, the client's Finished.
        requests.push({
          head: message.head,
          body: message.body,
          // of the whole connection so far, handshakes included
          total,
          segments: before !== null ? total - before.total : secure ? undefined : total,
          records: wire.records - (before?.records ?? 1),
          first: before === null
        })
        before = { total, records: wire.records }
        answer({ ...message, socket })
      }
    })
  }

  const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))
  const track = (socket) => { sockets.add(socket); socket.setNoDelay(true); socket.on('error', () => {}) }
  let port
  const servers = []
  if (!secure) {
    const server = net.createServer((socket) => { track(socket); serve(socket, () => ({ socket, records: 0 })) })
    port = await listen(server)
    servers.push(server)
  } else {
    // A TLS socket does not show its records, so a plain socket in front counts them and forwards the bytes.
    const inner = tls.createServer(localhostIdentity(), (socket) => {
      track(socket)
      const wire = watched.get(socket.remotePort)
      serve(socket, () => wire)
    })
    const innerPort = await listen(inner)
    const front = net.createServer((socket) => {
      track(socket)
      const wire = { socket, records: 0 }
      const records = recordCounter((type) => { if (type === 23) wire.records++ })
      const link = net.connect(innerPort, '127.0.0.1', () => {
        watched.set(link.localPort, wire)
        socket.on('data', (data) => { records(data); link.write(data) })
        link.on('data', (data) => socket.write(data))
      })
      track(link)
      socket.on('close', () => link.destroy())
      link.on('close', () => socket.destroy())
    })
    port = await listen(front)
    servers.push(front, inner)
  }

  return {
    requests,
    port,
    origin: `${secure ? 'https' : 'http'}://localhost:${port}`,
    /** The most frequent count of the requests that had a baseline. */
    mode (name) { return modeOf(requests.map((request) => request[name]).filter((value) => value !== undefined)) },
    connections: () => sockets.size,
    async close () {
      for (const socket of sockets) socket.destroy()
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    }
  }
}

export function reply (body = 'ok', status = 200) {
  const text = `HTTP/1.1 ${status} X\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  return ({ socket }) => socket.write(text)
}

export function modeOf (values) {
  const counts = new Map()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0]
}

function recordCounter (onRecord) {
  let pending = Buffer.alloc(0)
  return (data) => {
    pending = Buffer.concat([pending, data])
    while (pending.length >= 5) {
      const size = 5 + pending.readUInt16BE(3)
      if (pending.length < size) return
      onRecord(pending[0])
      pending = pending.subarray(size)
    }
  }
}
