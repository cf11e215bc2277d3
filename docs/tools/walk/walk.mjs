// Walks a POST on a kept connection, hooks off, through the Node adapter: see walk.py. The runtime counts calls, not their
// order, so there are no returns here. usage: node docs/tools/walk/walk.mjs [--show]
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import { createRequire } from 'node:module'
import { Agent } from '../../../node/src/index.js'

const { request } = createRequire(new URL('../../../node/package.json', import.meta.url))('undici')
const ours = new URL('../../../node/src/', import.meta.url).href
const server = createServer((incoming, answer) => { incoming.resume().on('end', () => answer.end('{}')) })
await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve) })
const url = `http://127.0.0.1:${server.address().port}/`
const dispatcher = new Agent()
const post = async () => (await request(url, { method: 'POST', body: Buffer.alloc(200, 'x'), dispatcher })).body.dump()
for (let n = 0; n < 5; n++) await post()

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
await session.post('Profiler.takePreciseCoverage')
await post()
const { result } = await session.post('Profiler.takePreciseCoverage')
const called = result.filter((script) => script.url.startsWith(ours)).flatMap((script) => script.functions
  .filter((one) => one.functionName && one.ranges[0].count)
  .map((one) => ({ file: script.url.slice(ours.length), name: one.functionName, count: one.ranges[0].count })))
const calls = called.reduce((sum, one) => sum + one.count, 0)
console.log(`node: ${calls} calls, ${new Set(called.map((one) => one.file)).size} files`)
if (process.argv.includes('--show')) for (const one of called) console.log(`  ${one.file}: ${one.name}${one.count > 1 ? ` × ${one.count}` : ''}`)
await dispatcher.close()
server.close()
