// HttpAgent and HttpsAgent report errors as Node's agents do.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { describe, test } from 'node:test'
import { HttpAgent, HttpsAgent } from '../src/http/index.js'
import { recorder, until } from './support/record.js'
import { answerOk, startServer } from './support/server.js'
import { localhostIdentity } from './support/tap.js'

const ca = localhostIdentity().cert

/** How a request ended: its status, what was thrown to the caller, or what its event brought. */
async function outcome (make) {
  let request
  try {
    request = make()
  } catch (error) {
    return `thrown ${error.code}`
  }
  const error = once(request, 'error').then(([error]) => `event ${error.code}`, (error) => `event ${error.code}`)
  const status = new Promise((resolve) => request.once('response', (response) => {
    response.resume().once('end', () => resolve(`status ${response.statusCode}`))
  }))
  const hung = new Promise((resolve) => setTimeout(resolve, 20_000, 'hung').unref())
  return Promise.race([status, error, hung])
}

for (const secure of [false, true]) {
  const library = secure ? https : http
  const Ours = secure ? HttpsAgent : HttpAgent
  const Stock = library.Agent

  /** @type {Record<string, (origin: string, agent: any) => http.ClientRequest>} */
  const requests = {
    'a port that is none': (origin, agent) => library.get(origin, { agent, port: 70000 }),
    'a family that is none': (origin, agent) => library.get(origin, { agent, family: 7 }),
    'a bad local address': (origin, agent) => library.get(origin, { agent, localAddress: 'nowhere' }),
    'a look-up that throws': (origin, agent) => library.get(origin, { agent, family: 4, lookup () { throw Object.assign(new Error('no'), { code: 'MINE' }) } }),
    'a look-up that is none': (origin, agent) => library.get(origin, { agent, family: 4, lookup: /** @type {any} */ ('no') }),
    'two Host headers in the options': (origin, agent) => library.get(origin, { agent, headers: { Host: ['a', 'b'] } }),
    'a second Host header later': (origin, agent) => {
      const request = library.request(origin, { agent })
      request.appendHeader('Host', 'b')
      return request.end()
    },
    ...(secure
      ? {
          'a bad certificate': (origin, agent) => library.get(origin, { agent, cert: 'none' }),
          'a bad version of TLS': (origin, agent) => library.get(origin, { agent, minVersion: /** @type {any} */ ('TLSv9') })
        }
      : null)
  }

  describe(secure ? 'HttpsAgent' : 'HttpAgent', () => {
    test('options that Node takes', () => {
      for (const options of [undefined, null, 5]) {
        assert.deepEqual({ ...new Ours(/** @type {any} */ (options)).options }, { ...new Stock(/** @type {any} */ (options)).options })
      }
    })

    for (const [name, make] of Object.entries(requests)) {
      for (const hooked of [false, true]) {
        test(`${name}: ends as with Node's agent, beside an idle connection${hooked ? ', and has one record' : ''}`, async () => {
          const server = await startServer(answerOk, { secure })
          const ends = []
          const seen = recorder()
          try {
            for (const agent of [new Stock({ keepAlive: true, ca }), new Ours({ keepAlive: true, ca, ...(hooked ? seen.hooks : null) })]) {
              assert.equal(await outcome(() => library.get(server.origin, { agent })), 'status 200')
              await until(() => Object.keys(agent.freeSockets).length === 1)
              ends.push(await outcome(() => make(server.origin, agent)))
              assert.equal(await outcome(() => library.get(server.origin, { agent })), 'status 200')
              agent.destroy()
            }
            assert.equal(ends[1], ends[0])
            if (!hooked) return
            await until(() => seen.records.length >= 3)
            assert.equal(seen.records.length, 3)
          } finally {
            await server.close()
          }
        })
      }
    }

    const idle = (agent) => until(() => Object.keys(agent.freeSockets).length === 1)

    test('destroy() ends a request that waits for its idle connection, as with Node\'s agent', async () => {
      const server = await startServer(answerOk, { secure })
      const agent = new Ours({ keepAlive: true, ca })
      const get = () => library.get(server.origin, { agent })
      try {
        await outcome(get)
        await idle(agent)
        const end = outcome(get)
        agent.destroy()
        assert.equal(await end, 'event ECONNRESET')
      } finally {
        await server.close()
      }
    })

    test('a request that is destroyed before it gets its idle connection ends as with Node\'s agent, and leaves the connection', async () => {
      const server = await startServer(answerOk, { secure })
      const seen = []
      try {
        for (const agent of [new Stock({ keepAlive: true, ca }), new Ours({ keepAlive: true, ca })]) {
          await outcome(() => library.get(server.origin, { agent }))
          await idle(agent)
          const events = []
          const request = library.get(server.origin, { agent })
          for (const name of ['socket', 'abort', 'error', 'close']) request.on(name, () => events.push(name))
          request.abort()
          await once(request, 'close')
          const [socket] = Object.values(agent.freeSockets)[0] ?? []
          seen.push([events, socket?.destroyed])
          agent.destroy()
        }
        assert.deepEqual(seen[1], seen[0])
      } finally {
        await server.close()
      }
    })
  })
}

test('createConnection works without its agent, as that of Node', async (t) => {
  const server = await startServer(answerOk)
  t.after(() => server.close())
  const { createConnection } = new HttpAgent()
  const socket = createConnection({ host: '127.0.0.1', port: Number(new URL(server.origin).port) })
  await once(socket, 'connect')
  socket.destroy()
})
