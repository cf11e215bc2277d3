// node-fetch 2 takes a listener for 'data' on the socket of a finished chunked response for a connection that was lost.

import assert from 'node:assert/strict'
import http from 'node:http'
import { test } from 'node:test'
import nodeFetch2 from 'node-fetch-2'
import { HttpAgent } from '../src/http/index.js'
import { startServer } from './support/server.js'

for (const [name, make] of /** @type {[string, () => http.Agent][]} */ ([
  ['Node\'s own agent', () => new http.Agent({ keepAlive: true })],
  ['HttpAgent', () => new HttpAgent({ keepAlive: true })],
  ['HttpAgent with a hook', () => new HttpAgent({ keepAlive: true, onTiming () {} })]
])) {
  test(`${name}: 20 chunked responses are whole, and no listener for 'data' is left on an idle socket`, async () => {
    const server = await startServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n')
      setImmediate(() => socket.write('6\r\n world\r\n0\r\n\r\n'))
    })
    const agent = make()
    /** @type {Set<any>} */
    const sockets = new Set()
    agent.on('free', (socket) => sockets.add(socket))
    try {
      for (let round = 0; round < 20; round++) assert.equal(await (await nodeFetch2(server.origin, { agent })).text(), 'hello world')
      for (const socket of sockets) assert.equal(socket.listenerCount('data'), 0)
      assert.equal(sockets.size, 1)
    } finally {
      agent.destroy()
      await server.close()
    }
  })
}
