// The server of the bench, in its own process, so that its CPU time is not counted as the clients'.
// Sends its parent two ports: of a server that answers at once, and of a sink for uploads.

import http from 'node:http'
import net from 'node:net'

const server = http.createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, { 'content-length': 2 }).end('ok'))
})
// The sink does not parse: parsing thousands of chunks would cost more than sending them.
const sink = net.createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', (data) => {
    if (data.subarray(-5).toString('latin1') === '0\r\n\r\n') socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  })
})
await Promise.all([server, sink].map((each) => new Promise((resolve) => each.listen(0, '127.0.0.1', () => resolve(undefined)))))
process.send?.([server, sink].map((each) => /** @type {net.AddressInfo} */ (each.address()).port))
