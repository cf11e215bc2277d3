// The code of the README and of examples/ runs as it is printed.

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
    const { stdout } = await promisify(execFile)(process.execPath, args.map((arg) => arg.replaceAll('https://example.com/', `${tap.origin}/`)),
      { cwd: folder, env: { ...process.env, ONEWRITE_EXAMPLE_URL: tap.origin } })
    return { stdout, requests: tap.requests }
  } finally {
    await tap.close()
  }
}

const examples = [...readFileSync(new URL('../README.md', import.meta.url), 'utf8').matchAll(/```js\n([\s\S]*?)```/g)].map((match) => match[1])

/** @type {[string, RegExp[], (requests: any[]) => void][]} a word that the example has, what it prints, what it sends */
const expected = [
  ['install({ onTiming: (record)', [/^POST http:\S+ 200 in [\d.]+ ms: .*wait [\d.]+.*new conn 1$/m, /^200 ok$/m], ([{ body }]) => assert.equal(body.toString(), 'a=b')],
  ['new Agent({ onTiming', [/^\d+$/m, /^ok$/m], ([{ body }]) => assert.equal(body.toString(), 'x')],
  ['axios', [/^\d+$/m, /^ok$/m], ([{ body }]) => assert.deepEqual(JSON.parse(body.toString()), { a: 1 })],
  ['openTelemetry()', [/^$/], (requests) => assert.equal(requests.length, 0)]
]

test('every example of the README is in the list below', () => {
  assert.deepEqual(examples.map((code) => expected.filter(([word]) => code.includes(word)).length), expected.map(() => 1))
})

for (const [word, prints, check] of expected) {
  test(`the example of the README with ${word} runs`, async () => {
    // An example may leave connections open, which would keep its process alive for a while.
    const { stdout, requests } = await runAgainstTap(['--input-type=module', '-e', `${examples.find((code) => code.includes(word))}\nsetTimeout(process.exit, 20)`])
    for (const pattern of prints) assert.match(stdout, pattern)
    check(requests)
  })
}

test('the command of the README runs a program with fetch and node:http', async () => {
  assert.match(readFileSync(new URL('../README.md', import.meta.url), 'utf8'), /^node --import onewrite\/register app\.js$/m)
  const { stdout, requests } = await runAgainstTap(['--import', 'onewrite/register', '--input-type=module', '-e', `
    import http from 'node:http'
    import { once } from 'node:events'
    const answer = await fetch('https://example.com/', { method: 'POST', body: 'x' })
    const [response] = await once(http.get('https://example.com/'), 'response')
    console.log(answer.status, response.statusCode)
    process.exit()`])
  assert.equal(stdout.trim(), '200 200')
  assert.equal(requests.length, 2)
})

test('examples/post.js runs', async () => {
  const { stdout, requests } = await runAgainstTap(['examples/post.js'])
  assert.equal(stdout.trim().split('\n').length, 3)
  assert.match(stdout, /reused conn/)
  assert.deepEqual(JSON.parse(requests[0].body.toString()), { order: 1 })
})
