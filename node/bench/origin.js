// The server of the bench. It runs in a separate process, so its CPU time is not counted. It sends its URLs to its parent.
// It does no more than a client needs, so that a run is short: a GET is whole, and the bodies of the bench, and nothing else, end with an x.

import net from 'node:net'
import tls from 'node:tls'
import { localhostIdentity } from '../test/support/tap.js'

const [G, X] = Buffer.from('Gx')
const ANSWER = Buffer.from(
  'HTTP/1.1 200 OK\r\nDate: Sat, 28 Nov 2026 09:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\nContent-Length: 2\r\n\r\nok')

const onSocket = (socket) => {
  socket.on('data', (part) => { if (part.at(-1) === X || part[0] === G) socket.write(ANSWER) }).on('error', () => socket.destroy())
}

const servers = [net.createServer({ noDelay: true }, onSocket), tls.createServer({ noDelay: true, ...localhostIdentity() }, onSocket)]
const [plain, secure] = await Promise.all(servers.map((server) => new Promise((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve(/** @type {net.AddressInfo} */ (server.address()).port))
})))
process.send?.({ plain: `http://127.0.0.1:${plain}/`, TLS: `https://127.0.0.1:${secure}/` })
process.on('disconnect', () => process.exit())
