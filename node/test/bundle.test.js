// In one file of CommonJS, as esbuild makes it, `import.meta` is empty and there is no package.json to read.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** @param {string} program */
async function runBundled (program) {
  const folder = mkdtempSync(join(tmpdir(), 'onewrite-bundle-'))
  const outfile = join(folder, 'bundle.cjs')
  try {
    await build({ stdin: { contents: program, resolveDir: fileURLToPath(new URL('.', import.meta.url)) }, bundle: true, platform: 'node', format: 'cjs', outfile, logLevel: 'silent' })
    return execFileSync(process.execPath, ['--no-warnings', outfile], { encoding: 'utf8', cwd: folder })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('status() works, without the version of undici', async () => {
  const { enabled, base, version, patches } = JSON.parse(await runBundled(`import { install, status } from '../src/index.js'
    install()
    console.log(JSON.stringify(status()))
    process.exit()`))
  assert.deepEqual([enabled, base, typeof version], [true, { name: 'undici', supported: true }, 'string'])
  assert.equal(patches['fetch and undici without a dispatcher'], 'on')
})

test('onewrite/opentelemetry can be loaded', async () => {
  assert.equal(await runBundled("import { openTelemetry } from '../src/opentelemetry/index.js'\nopenTelemetry()\nconsole.log('loaded')"), 'loaded\n')
})
