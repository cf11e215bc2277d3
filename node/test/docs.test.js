// What the README and examples/ say is run as it stands.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startTap } from './support/tap.js'

const folder = fileURLToPath(new URL('..', import.meta.url))

async function runAgainstTap (args) {
  const tap = await startTap({ count: false })
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env: { ...process.env, ONEWRITE_EXAMPLE_URL: tap.origin } })
    return { stdout, requests: tap.requests }
  } finally {
    await tap.close()
  }
}

test('the first example of the README runs', async () => {
  const use = readFileSync(new URL('../README.md', import.meta.url), 'utf8').split('\n## Use\n')[1]
  const code = /```js\n([\s\S]*?)```/.exec(use)[1]
  const { stdout, requests } = await runAgainstTap(['--input-type=module', '-e', code])
  assert.match(stdout, /^POST http:\S+ 200 in [\d.]+ ms: .*wait [\d.]+.*new conn 1$/m)
  assert.match(stdout, /^200 ok$/m)
  assert.equal(requests[0].body.length, 200)
})

test('examples/post.js runs', async () => {
  const { stdout, requests } = await runAgainstTap(['examples/post.js'])
  assert.equal(stdout.trim().split('\n').length, 3)
  assert.match(stdout, /reused conn/)
  assert.deepEqual(JSON.parse(requests[0].body.toString()), { order: 1 })
})
