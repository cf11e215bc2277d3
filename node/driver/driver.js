// The driver: reads JSON lines from stdin, drives one client kind, writes JSON lines to stdout.
// One kind per process, loaded on `hello`, so that `stock` and `control` never load the adapter.
// ONEWRITE_DRIVER_API chooses the API of the kind: undici, http or fetch; without it the first of the kind is driven.

import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describeError } from './errors.js'
import { runRequest } from './request.js'
import { runLoad } from './load.js'
import { startBridge } from './serve.js'
import { Skipped } from './skipped.js'

const KINDS = ['onewrite', 'patched', 'stock', 'control']
const version = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version

/** @type {any} The module of the client kind, once `hello` has named it. */
let kind
/** @type {Map<number, any>} */
const clients = new Map()
let lastClientId = 0

const HTTP_LACKS = ['body:memory_file', 'body:multipart', 'proxy_forward', 'proxy_connect']

const commands = {
  async hello (message) {
    if (!KINDS.includes(message.client)) throw new Skipped(`client ${message.client} is not known`)
    const { ...loaded } = await import(`./clients/${message.client}.js`)
    const api = process.env.ONEWRITE_DRIVER_API
    if (api !== undefined && !loaded.apis.includes(api)) throw new Skipped(`client ${message.client} has no api ${api}`)
    kind = api === undefined ? loaded : { ...loaded, apis: [api], base: api === 'http' ? { name: 'node:http', version: process.versions.node } : loaded.base }
    return {
      protocol: 2,
      client: message.client,
      adapter: 'node',
      version,
      base: kind.base,
      runtime: `Node ${process.versions.node}`,
      pid: process.pid,
      apis: kind.apis,
      capabilities: api === 'http' ? [...kind.capabilities.filter((name) => !HTTP_LACKS.includes(name)), 'expect_continue'] : kind.capabilities
    }
  },
  async open (message) {
    if (!kind) throw new Skipped('hello comes first')
    const options = message.options ?? {}
    const api = options.api ?? kind.apis[0]
    if (!kind.apis.includes(api)) throw new Skipped(`api ${api} is not one of ${kind.apis.join(', ')}`)
    let client
    try {
      client = await kind.open({ pool_size: 1, keepalive: true, hooks: 'none', ...options, api })
    } catch (error) {
      if (error?.code !== 'ONEWRITE_INVALID_OPTION') throw error
      return { outcome: 'error', error: describeError(error) }
    }
    clients.set(++lastClientId, client)
    return { client_id: lastClientId }
  },
  async close (message) {
    const client = clientOf(message)
    clients.delete(message.client_id)
    await client.close()
    return { ok: true }
  },
  request: (message) => runRequest(clientOf(message), message),
  async batch (message) {
    const client = clientOf(message)
    return { results: await Promise.all(message.requests.map((request) => guarded(() => runRequest(client, request), request.seq))) }
  },
  load: (message) => runLoad(clientOf(message), message),
  serve: (message) => startBridge(clientOf(message), message),
  async bye () {
    return { ok: true }
  }
}

function clientOf (message) {
  const client = clients.get(message.client_id)
  if (!client) throw new Skipped(`no open client ${message.client_id}`)
  return client
}

async function guarded (run, seq) {
  try {
    return { seq, ...(await run()) }
  } catch (error) {
    if (error instanceof Skipped) return { seq, skipped: error.message }
    return { seq, crashed: error?.stack ?? String(error) }
  }
}

async function handle (line) {
  if (line.trim() === '') return
  let message
  try {
    message = JSON.parse(line)
  } catch (error) {
    reply({ seq: null, crashed: `not JSON: ${error.message}` })
    return
  }
  const command = Object.hasOwn(commands, message.cmd) ? commands[message.cmd] : null
  const answer = command
    ? await guarded(() => command(message), message.seq)
    : { seq: message.seq, skipped: `command ${message.cmd} is not known` }
  if (message.cmd === 'bye') process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0))
  else reply(answer)
}

function reply (answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

process.on('uncaughtException', (error) => process.stderr.write(`uncaught: ${error?.stack ?? error}\n`))
process.on('unhandledRejection', (error) => process.stderr.write(`unhandled: ${error?.stack ?? error}\n`))

const lines = createInterface({ input: process.stdin })
lines.on('line', handle)
lines.on('close', () => process.exit(0))
