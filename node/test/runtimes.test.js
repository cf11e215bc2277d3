// Bun refuses the import, Deno works but for its own fetch. Run where the programs are: in PATH or, after `make suites`, in build.

import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, mkdirSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const adapter = fileURLToPath(new URL('..', import.meta.url))
const PATH = `${process.env.PATH}:${join(adapter, 'build', 'runtimes', 'node_modules', '.bin')}`
const run = promisify(execFile)

const PROGRAMS = {
  'undici.request': `import { Agent } from 'onewrite'
    import { request } from 'undici'
    const agent = new Agent({ onTiming: (record) => console.log('record', record.status, record.waitNs > 0) })
    console.log(await (await request(URL, { dispatcher: agent, method: 'POST', body: 'x' })).body.text())
    await agent.close()`,
  'undici after install()': `import { install } from 'onewrite'
    import { request } from 'undici'
    install({ onTiming: (record) => console.log('record', record.status, record.waitNs > 0) })
    console.log(await (await request(URL, { method: 'POST', body: 'x' })).body.text())
    process.exit()`,
  'node:http': `import http from 'node:http'
    import { HttpAgent } from 'onewrite/http'
    const agent = new HttpAgent({ keepAlive: true, onTiming: (record) => { console.log('record', record.status, record.waitNs > 0); agent.destroy() } })
    http.request(URL, { agent, method: 'POST' }, (response) => response.on('data', (data) => console.log(String(data)))).end('x')`
}

function has (program) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore', env: { ...process.env, PATH } })
    return true
  } catch {
    return false
  }
}

let folder = ''
let url = ''
const server = http.createServer((request, response) => request.resume().on('end', () => response.end('ok')))
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'onewrite-runtimes-'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(adapter, join(folder, 'node_modules', 'onewrite'))
  symlinkSync(join(adapter, 'node_modules', 'undici'), join(folder, 'node_modules', 'undici'))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  url = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}/`
})
after(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

/** @param {string[]} command @param {string} program */
async function output (command, program) {
  const file = join(folder, `${Math.random()}.mjs`)
  writeFileSync(file, program.replaceAll('URL', JSON.stringify(url)))
  const [name = '', ...rest] = command
  return (await run(name, [...rest, file], { cwd: folder, env: { ...process.env, PATH, NO_COLOR: '1' }, timeout: 60_000 })).stdout
}

for (const [name, command] of Object.entries({ Node: [process.execPath], Deno: ['deno', 'run', '-A'] })) {
  describe(name, { skip: !has(command[0]) && `there is no ${command[0]}` }, () => {
    for (const [what, program] of Object.entries(PROGRAMS)) {
      test(what, async () => assert.deepEqual((await output(command, program)).trim().split('\n').sort(), ['ok', 'record 200 true']))
    }
  })
}

describe('Bun', { skip: !has('bun') && 'there is no bun' }, () => {
  test('everything is stock, with one warning', async () => {
    const said = await output(['bun', 'run'], `
      import http from 'node:http'
      const { install, HttpAgent } = await import('onewrite')
      let warnings = 0
      process.on('warning', ({ code }) => { if (code === 'ONEWRITE_UNSUPPORTED_RUNTIME') warnings++ })
      install({ onTiming () { console.log('record') } })
      const agent = new HttpAgent({ onTiming () { console.log('record') } })
      const text = await (await fetch(URL)).text()
      http.get(URL, { agent }, (response) => response.resume().on('end', () => setTimeout(() => { console.log(text, warnings); process.exit() }, 20)))`)
    assert.equal(said.trim(), 'ok 1')
  })
})
