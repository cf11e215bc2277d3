// An idle connection of node:http on which bytes were read is not used again. Bytes that were not read yet are not seen.

import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import { describe, test } from 'node:test'
import { HttpAgent, HttpsAgent } from '../src/http/index.js'
import { startOtherThread } from './support/busy.js'
import { recorder, until } from './support/record.js'

for (const secure of [false, true]) {
  const { get } = secure ? https : http
  const Ours = secure ? HttpsAgent : HttpAgent
  const options = { keepAlive: true, maxSockets: 1 }

  /** @returns {Promise<{body: string, reused: boolean}>} */
  const ask = ({ origin, ca }, agent) => new Promise((resolve, reject) => {
    const request = get(origin, { agent, ca }, async (response) => {
      let body = ''
      for await (const part of response) body += part
      resolve({ body, reused: request.reusedSocket })
    })
    request.on('error', reject)
  })

  const withOrigin = async (agent, run) => {
    const other = await startOtherThread({ secure })
    try {
      assert.deepEqual(await ask(other, agent), { body: 'ok', reused: false })
      await run(other)
    } finally {
      agent.destroy()
      await other.close()
    }
  }

  describe(secure ? 'HttpsAgent' : 'HttpAgent', () => {
    test('an idle connection on which something was read is not used again', () => {
      const agent = new Ours(options)
      return withOrigin(agent, async (other) => {
        await until(() => Object.keys(agent.freeSockets).length === 1)
        const [socket] = Object.values(agent.freeSockets)[0]
        const before = socket.bytesRead
        other.sendUnasked()
        await until(() => socket.bytesRead > before || socket.destroyed)
        assert.deepEqual(await ask(other, agent), { body: 'ok', reused: false })
      })
    })

    test('a connection on which nothing came is used again, and keeps no listener', () => {
      const seen = recorder()
      const agent = new Ours({ ...options, ...seen.hooks })
      return withOrigin(agent, async (other) => {
        assert.deepEqual(await ask(other, agent), { body: 'ok', reused: true })
        await until(() => seen.timings.length === 2)
        assert.equal(seen.timings[1].reused, true)
        await until(() => Object.keys(agent.freeSockets).length === 1)
        const [socket] = Object.values(agent.freeSockets)[0]
        assert.equal(socket.listenerCount('data'), 0)
      })
    })
  })
}
