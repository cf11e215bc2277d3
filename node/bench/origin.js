// The server of the bench. It runs in a separate process, so its CPU time is not counted. It sends its port to its parent.
// It does no more than a client needs, so that a run is short: the bodies of the bench, and nothing else, end with an x.

import net from 'node:net'

const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\nDate: Sat, 28 Nov 2026 09:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok')

const server = net.createServer({ noDelay: true }, (socket) => {
  socket.on('data', (part) => { if (part.at(-1) === 0x78) socket.write(ANSWER) }).on('error', () => socket.destroy())
})
server.listen(0, '127.0.0.1', () => process.send?.(/** @type {net.AddressInfo} */ (server.address()).port))
process.on('disconnect', () => process.exit())
