// A small origin on a raw socket. The test writes the response, so it can be early, late, cut short or invalid.

import net from 'node:net'
import tls from 'node:tls'
import { localhostIdentity } from './tap.js'

/**
 * @param {(socket: import('node:net').Socket, data: Buffer) => void} onData called with all bytes since the last answer
 * @param {{secure?: boolean}} [options]
 */
export async function startServer (onData, { secure = false } = {}) {
  const sockets = new Set()
  const onSocket = (socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (data) => onData(socket, data))
  }
  const server = secure ? tls.createServer(localhostIdentity(), onSocket) : net.createServer(onSocket)
  server.on('tlsClientError', () => {})
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    port,
    origin: `${secure ? 'https' : 'http'}://localhost:${port}`,
    async close () {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** Nobody listens there, no program is given it by chance, and fetch does not refuse it (Fetch standard, bad ports). */
export const CLOSED_PORT = 2

export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
export const answerOk = (socket) => socket.write(OK)
