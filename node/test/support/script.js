import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Runs a module in a process. `out` is what it prints, as JSON. */
export async function runScript (script, { args = [], env = {} } = {}) {
  const child = spawn(process.execPath, [...args, '--input-type=module', '-e', script], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)), env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe']
  })
  let [out, error] = ['', '']
  child.stdout.on('data', (data) => { out += data })
  child.stderr.on('data', (data) => { error += data })
  const [code] = await once(child, 'close')
  assert.equal(code, 0, error)
  return { out: out.trim() === '' ? undefined : JSON.parse(out), error }
}
