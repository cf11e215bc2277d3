// One scenario in a process of its own: a tool, with onewrite or without, an order, hooks or none. Prints JSON.
// node scenario.js TOOL stock|onewrite tool-first|onewrite-first hooks|plain URL DEAD-URL
//
// With onewrite: install() for fetch, its Agent for undici.request(), its HttpAgent for node:http.
// tool-first: the tool patches before onewrite is imported and the clients are made. onewrite-first: the tool patches when
// each client already has a connection.

import { once } from 'node:events'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { ANSWER, toolsFor } from './tools.js'

const [, , toolName = '', way = '', order = '', hooked = '', url = '', dead = ''] = process.argv
const BODY = 'x'.repeat(200)
/** Calls over which the number of segments is judged. */
const JUDGED = 20

// By require(), because tools that replace exports hook in there.
const require = createRequire(import.meta.url)
const undiciPath = fileURLToPath(new URL('../../node_modules/undici', import.meta.url))

const records = []
const hooks = hooked === 'hooks' ? { onTiming: (record) => records.push(record) } : {}
let onewrite

async function begin () {
  if (way === 'stock') return
  onewrite = await import('../../src/index.js')
  onewrite.install({ connections: 1, ...hooks })
}

const makers = {
  fetch () {
    // install() leaves a dispatcher that the program chose, so stock does, too.
    if (way === 'stock' && !(tool.isDispatcher && order === 'tool-first')) {
      const { Agent, setGlobalDispatcher } = require(undiciPath)
      setGlobalDispatcher(new Agent({ connections: 1 }))
    }
    return async (method, target, body) => {
      const stream = body !== undefined && typeof body !== 'string'
      const response = await fetch(target, { method, body: stream ? Readable.toWeb(Readable.from(body)) : body, ...(stream ? { duplex: 'half' } : null) })
      return [response.status, await response.text(), response.headers.get('content-type')]
    }
  },
  undici () {
    const undici = require(undiciPath)
    const dispatcher = way === 'stock' ? new undici.Agent({ connections: 1 }) : new onewrite.Agent({ connections: 1, ...hooks })
    return async (method, target, body) => {
      const stream = body !== undefined && typeof body !== 'string'
      const response = await undici.request(target, { method, dispatcher, body: stream ? Readable.from(body) : body })
      return [response.statusCode, await response.body.text(), response.headers['content-type'] ?? null]
    }
  },
  http () {
    const http = require('http')
    const agent = way === 'stock' ? new http.Agent({ keepAlive: true, maxSockets: 1 }) : new onewrite.HttpAgent({ keepAlive: true, maxSockets: 1, ...hooks })
    return async (method, target, body) => {
      const request = http.request(target, { method, agent })
      if (body !== undefined && typeof body !== 'string') Readable.from(body).pipe(request)
      else request.end(body)
      const [response] = await once(request, 'response')
      const parts = await response.toArray()
      return [response.statusCode, Buffer.concat(parts).toString(), response.headers['content-type'] ?? null]
    }
  }
}

const wire = () => [
  ...Array.from({ length: JUDGED }, () => ['POST', `${url}/judged`, BODY]),
  ['POST', `${url}/text`, 'tea'],
  ['GET', `${url}/get`],
  ['HEAD', `${url}/head`],
  ['DELETE', `${url}/missing`],
  ['GET', `${url}/redirect`],
  ['POST', `${url}/chunked`, [Buffer.from('one'), Buffer.from('two')]],
  ['GET', `${dead}/dead`]
]

async function seen (call, wanted) {
  const came = []
  for (const [method, target, body] of wanted) {
    try {
      came.push(await call(method, target, body))
    } catch (error) {
      came.push([errorOf(error), target.replace(/.*\//, '')])
    }
  }
  return came
}

/** An error's name and code, and those of what it was made of. */
function errorOf (error) {
  const names = []
  for (let each = error; each instanceof Object; each = each.cause ?? each.errors?.[0]) names.push([each.name, each.code].filter(Boolean).join(' '))
  return names.join(' < ')
}

const told = () => records.splice(0).map(({ method, outcome, status }) => `${method} ${outcome} ${status}`)
const settle = () => new Promise((resolve) => setTimeout(resolve, 20))

const tool = toolsFor(url)[toolName]()
const make = () => tool.clients.map((name) => [name, makers[name]()])
let clients
if (order === 'tool-first') {
  await tool.start()
  await begin()
  clients = make()
} else {
  await begin()
  clients = make()
  for (const [, call] of clients) await call('POST', `${url}/warm`, BODY)
  await tool.start()
}
// Some tools patch when the module is loaded.
require('http')

const results = {}
const under = tool.under ?? ((run) => run())
await settle()
records.length = 0
for (const [name, call] of clients) {
  await under(async () => {
    const mocked = tool.mocks ? Array.from({ length: 3 }, () => ['POST', tool.mocked ?? `${url}/mocked`, BODY]) : []
    results[name] = { seen: await seen(call, [...mocked, ...wire()]) }
  })
  await settle()
  results[name].timings = told()
}
const spans = await tool.spans?.() ?? []
if (tool.stop !== undefined) {
  await tool.stop()
  // The tool has restored the dispatcher from before install(), whose hooks and options stay.
  if (tool.isDispatcher && order === 'tool-first') onewrite?.install()
  for (const [name, call] of clients) {
    results[name].afterwards = await seen(call, wire())
    await settle()
    results[name].timingsAfterwards = told()
  }
}
const mocked = Object.values(results).reduce((count, result) => count + result.seen.filter((one) => one.includes(ANSWER)).length, 0)
process.stdout.write(`\n${JSON.stringify({ results, ids: spans.map(([id]) => id), spans: spans.map(([, what]) => what), mocked, hookFailures: onewrite?.hookFailures() ?? 0 })}\n`, () => process.exit(0))
