// Popular tracers and mocks with onewrite: they record and answer the same as with stock.
//
// A scenario is one process (scenario.js). What it sees is compared with the same scenario without onewrite: results,
// errors, spans, the headers that arrive at the server. What reaches the server arrives in one segment.
// ONEWRITE_TRACERS="dd-trace,msw" chooses tools; ONEWRITE_TRACERS_NODE is the Node that runs the scenarios.

import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { CLOSED_PORT } from '../support/server.js'
import { modeOf, startTap } from '../support/tap.js'
import { toolsFor } from './tools.js'

// Where `make tracers` has installed the tools.
const WORK = fileURLToPath(new URL('../../build/tracers', import.meta.url))
for (const name of ['scenario.js', 'tools.js']) copyFileSync(new URL(name, import.meta.url), join(WORK, name))
const SCENARIO = join(WORK, 'scenario.js')
// Newer than what this package supports: the newest tracers ask for it.
const node = process.env.ONEWRITE_TRACERS_NODE ?? execFileSync(fileURLToPath(new URL('../../tools/node-binary.sh', import.meta.url)), ['24.21.0'], { encoding: 'utf8' }).trim()
const ORDERS = ['tool-first', 'onewrite-first']
const chosen = process.env.ONEWRITE_TRACERS?.split(',')
const tools = Object.keys(toolsFor('http://localhost')).filter((name) => chosen?.includes(name) ?? true)

function answer ({ head, body, socket }) {
  const [method, path] = head.split(' ')
  const reply = (status, text, more = '') => socket.write(`HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\n${more}content-length: ${text.length}\r\n\r\n${text}`)
  if (path === '/missing') return reply('404 Not Found', 'no such thing')
  if (path === '/redirect') return reply('302 Found', '', 'location: /get\r\n')
  if (method === 'HEAD') return socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n')
  return reply('200 OK', `${method} ${body.length}`)
}

async function play (tool, way, order, hooks) {
  const tap = await startTap({ answer })
  try {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/proxy|node_test|NODE_OPTIONS/i.test(name)))
    const { stdout } = await promisify(execFile)(node, [SCENARIO, tool, way, order, hooks, tap.origin, `http://localhost:${CLOSED_PORT}`], { env, timeout: 120_000, maxBuffer: 2 ** 26 })
    const last = stdout.trimEnd().split('\n').at(-1) ?? ''
    return { ...JSON.parse(last.replaceAll(String(tap.port), 'PORT')), requests: tap.requests }
  } finally {
    await tap.close()
  }
}

const lines = ({ requests }) => requests.map(({ head }) => head.split('\r\n')[0])
const headers = ({ requests }) => requests.map(({ head }) => head.split('\r\n').slice(1).map((line) => line.split(':')[0]))

/** How many requests carry the id of a span that the tool has recorded. */
function propagated ({ ids, requests }) {
  const known = new Set(ids)
  const header = /^(?:traceparent|sentry-trace): (.*)$/im
  return requests.filter(({ head }) => header.exec(head)?.[1]?.split('-').some((part) => known.has(part))).length
}

for (const name of tools) {
  const tool = toolsFor('http://localhost')[name]()
  describe(name, () => {
    for (const order of ORDERS) {
      /** Played once, for the tests of the order. @type {Promise<any> | undefined} */
      let stock
      for (const hooks of ['plain', 'hooks']) {
        test(`${order}, ${hooks}: as over stock`, async () => {
          const [wanted, ours] = [await (stock ??= play(name, 'stock', order, 'plain')), await play(name, 'onewrite', order, hooks)]
          for (const [client, result] of Object.entries(wanted.results)) {
            assert.deepEqual(ours.results[client].seen, result.seen, client)
            assert.deepEqual(ours.results[client].afterwards, result.afterwards, client)
          }
          assert.deepEqual(ours.spans, wanted.spans)
          assert.deepEqual(lines(ours), lines(wanted))
          assert.deepEqual(headers(ours), headers(wanted))
          assert.equal(propagated(ours), propagated(wanted))
          assert.equal(ours.hookFailures, 0)

          // In the scenario without onewrite the tool worked.
          // A mock of sockets does not reach a client with an open connection.
          const least = tool.isDispatcher ? 0 : 3
          if (tool.mocks) assert.ok(order === 'tool-first' && !tool.isDispatcher ? wanted.mocked === 3 * tool.clients.length : wanted.mocked >= least, `${wanted.mocked} mocked`)
          else {
            // Some only see modules that are loaded after them.
            const clients = order === 'tool-first' ? tool.clients.length : 1
            assert.ok(wanted.spans.length >= 27 * clients, `${wanted.spans.length} spans`)
            assert.ok(propagated(wanted) >= 26 * clients, `${propagated(wanted)} propagated`)
          }

          // install() leaves a dispatcher that the program chose: one write and records come when the tool is gone.
          const isLeft = tool.isDispatcher && order === 'tool-first'
          const judged = ours.requests.filter(({ head }) => head.startsWith('POST /judged')).slice(isLeft ? 20 : 0)
          assert.ok(judged.length >= 20)
          assert.equal(modeOf(judged.map(({ segments }) => segments)), 1)

          for (const client of hooks === 'hooks' ? tool.clients : []) {
            // A request that reaches the wire has a record; one that a mock answers has none.
            const { seen, timings, timingsAfterwards } = ours.results[client]
            const posts = (answers) => answers.filter((text) => /"POST \d+"/.test(text)).length
            for (const [told, answers] of [[isLeft ? undefined : timings, seen], [timingsAfterwards, ours.results[client].afterwards]]) {
              if (told === undefined) continue
              assert.equal(told.filter((line) => line.startsWith('GET error')).length, 1, client)
              assert.equal(told.filter((line) => line === 'POST ok 200').length, posts(answers.map((answer) => JSON.stringify(answer))), client)
            }
            assert.ok(posts(seen.map((answer) => JSON.stringify(answer))) >= 22)
          }
        })
      }
    }
  })
}
