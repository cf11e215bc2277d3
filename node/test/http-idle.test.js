// Bytes that arrive on an idle connection of node:http must not become the next answer, whether they were read or not.

import assert from 'node:assert/strict'
import http from 'node:http'
import https from 'node:https'
import { describe, test } from 'node:test'
import { HttpAgent, HttpsAgent } from '../src/http/index.js'
import { startOtherThread } from './support/busy.js'
import { recorder, until } from './support/record.js'

const turn = () => new Promise((resolve) => setImmediate(resolve))

for (const secure of [false, true]) {
  const { Agent: StockAgent, get } = secure ? https : http
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
    for (const [when, wait] of /** @type {[string, () => any][]} */ ([['in the turn of the last answer', () => undefined], ['in a later turn', turn]])) {
      test(`an answer that came while the program was busy ${when} is not the next request's`, () => {
        const agent = new Ours(options)
        return withOrigin(agent, async (other) => {
          await wait()
          other.sendUnasked()
          assert.deepEqual(await ask(other, agent), { body: 'ok', reused: false })
        })
      })

      test(`control: Node's own agent takes one that came ${when}`, () => {
        const agent = new StockAgent(options)
        return withOrigin(agent, async (other) => {
          await wait()
          other.sendUnasked()
          assert.equal((await ask(other, agent)).body, 'unasked')
        })
      })
    }

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

    test('a connection on which nothing came is used again, and the check is part of queue', () => {
      const seen = recorder()
      const agent = new Ours({ ...options, ...seen.hooks })
      return withOrigin(agent, async (other) => {
        assert.deepEqual(await ask(other, agent), { body: 'ok', reused: true })
        await until(() => seen.timings.length === 2)
        const [{ reused, queueNs, totalNs }] = seen.timings.slice(-1)
        assert.equal(reused, true)
        assert.ok(queueNs > 0 && queueNs < totalNs)
        await until(() => Object.keys(agent.freeSockets).length === 1)
        const [socket] = Object.values(agent.freeSockets)[0]
        assert.equal(socket.listenerCount('data'), 0)
      })
    })

    test('disabled: true leaves it to Node', () => {
      const agent = new Ours({ ...options, disabled: true })
      return withOrigin(agent, async (other) => {
        other.sendUnasked()
        assert.equal((await ask(other, agent)).body, 'unasked')
      })
    })
  })
}
