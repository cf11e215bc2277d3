// What the clients of the bench send to: a program of its own, so that its work is not counted as theirs.
// Tells its parent two ports: of a server that answers at once, and of a sink for uploads.

import http from 'node:http'
import net from 'node:net'

const server = http.createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, { 'content-length': 2 }).end('ok'))
})
// For uploads: parsing thousands of chunks costs a real server more than sending them costs the client.
const sink = net.createServer((socket) => {
  socket.on('error', () => {})
  socket.on('data', (data) => {
    if (data.subarray(-5).toString('latin1') === '0\r\n\r\n') socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
  })
})
await Promise.all([server, sink].map((each) => new Promise((resolve) => each.listen(0, '127.0.0.1', () => resolve(undefined)))))
process.send?.([server, sink].map((each) => /** @type {net.AddressInfo} */ (each.address()).port))
