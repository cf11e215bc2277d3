// The bridge of the protocol: a small service that forwards each POST upstream through the client.

import http from 'node:http'

export function startBridge (client, { upstream, port }) {
  return new Promise((resolve, reject) => {
    const server = http.createServer({ noDelay: true, keepAlive: true }, (request, response) => {
      const parts = []
      request.on('data', (part) => parts.push(part))
      request.on('end', () => {
        if (request.method === 'GET' && request.url === '/null') return answer(response, 200, Buffer.from('ok'))
        forward(client, upstream, Buffer.concat(parts)).then(
          ({ status, body }) => answer(response, status, body),
          (error) => answer(response, 502, Buffer.from(String(error?.message ?? error)))
        )
      })
    })
    server.keepAliveTimeout = 60_000
    server.on('error', reject)
    server.listen(port ?? 0, '127.0.0.1', () => {
      client.closers.push(() => server.close())
      resolve({ port: /** @type {import('node:net').AddressInfo} */ (server.address()).port })
    })
  })
}

function forward (client, upstream, body) {
  return client.api.request(client.transport, { method: 'POST', url: upstream, headers: [], body, read: 'all' })
}

// One end() with a known length: head and body leave in one write.
function answer (response, status, body) {
  response.writeHead(status, { 'content-length': body.length })
  response.end(body)
}
