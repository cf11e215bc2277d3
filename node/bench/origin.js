// The server of the bench, in its own process, so that its CPU time is not counted as the clients'. Sends its parent the port.

import http from 'node:http'

/** It answers these first, from itself: with a server that is still being compiled the first client is another than the second. */
const WARM_UP = 30_000

const server = http.createServer((request, response) => {
  request.resume()
  request.on('end', () => response.writeHead(200, { 'content-length': 2 }).end('ok'))
})
server.listen(0, '127.0.0.1', async () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const agent = new http.Agent({ keepAlive: true, maxSockets: 10 })
  const post = () => new Promise((resolve, reject) => {
    const request = http.request({ port, host: '127.0.0.1', agent, method: 'POST' }, (response) => response.resume().on('end', resolve))
    request.on('error', reject).end(Buffer.alloc(200))
  })
  for (let left = WARM_UP; left > 0; left -= 50) await Promise.all(Array.from({ length: 50 }, post))
  agent.destroy()
  process.send?.([port])
})
