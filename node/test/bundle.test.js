// In one file, as webpack, rollup and esbuild make it: there is no package.json to read, and names that one major of undici
// lacks are not imported.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const require = createRequire(import.meta.url)
const here = fileURLToPath(new URL('.', import.meta.url))
const newEnough = Number(process.versions.node.split('.')[0]) >= 22
/** @type {Record<string, string>} */
const UNDICI = { 'undici 7': dirname(require.resolve('undici/package.json')), 'undici 8': dirname(require.resolve('undici-8/package.json')) }

/** @type {Record<string, (entry: string, undici: string, folder: string) => Promise<string>>} */
const BUNDLERS = {
  async webpack (entry, undici, folder) {
    const { default: webpack } = await import('webpack')
    const stats = await new Promise((resolve, reject) => webpack({
      mode: 'production', optimization: { minimize: false }, target: 'node', entry, output: { path: folder, filename: 'bundle.cjs' }, resolve: { alias: { undici } }
    }, (error, result) => error ? reject(error) : resolve(result)))
    assert.deepEqual(stats.toJson({ errors: true }).errors.map(({ message }) => message), [])
    return join(folder, 'bundle.cjs')
  },
  async rollup (entry, undici, folder) {
    const [{ rollup }, { default: commonjs }, { nodeResolve }] = await Promise.all([import('rollup'), import('@rollup/plugin-commonjs'), import('@rollup/plugin-node-resolve')])
    const warnings = []
    const alias = { name: 'alias', resolveId: (source) => source === 'undici' ? join(undici, 'index.js') : null }
    const bundle = await rollup({
      input: entry, plugins: [alias, nodeResolve({ preferBuiltins: true }), commonjs({ ignore: ['node:sqlite'] })], onwarn: (warning) => warnings.push(warning.code)
    })
    const file = join(folder, 'bundle.cjs')
    await bundle.write({ file, format: 'cjs', inlineDynamicImports: true })
    assert.ok(!warnings.includes('MISSING_EXPORT'))
    return file
  },
  async esbuild (entry, undici, folder) {
    const outfile = join(folder, 'bundle.cjs')
    const { errors } = await build({ entryPoints: [entry], bundle: true, minify: true, platform: 'node', format: 'cjs', outfile, alias: { undici }, logLevel: 'silent' })
    assert.deepEqual(errors, [])
    return outfile
  }
}

/** @param {string} program @param {(file: string) => void} run */
async function bundled (program, bundle, undici, run) {
  // Beside the tests, so that the imports of the program are resolved.
  const folder = mkdtempSync(join(here, '..', 'bundle-'))
  try {
    const entry = join(folder, 'entry.mjs')
    writeFileSync(entry, program)
    run(await bundle(entry, undici, folder))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const PROGRAM = `import http from 'node:http'
  import { Agent, install, status } from '../src/index.js'
  const server = http.createServer((request, response) => response.end('ok')).listen(0, '127.0.0.1', async () => {
    let records = 0
    install({ onTiming: () => records++ })
    const text = await (await fetch('http://127.0.0.1:' + server.address().port)).text()
    setTimeout(() => {
      console.log(JSON.stringify({ text, records, status: status(), agent: typeof Agent }))
      process.exit()
    }, 20)
  })`

for (const [name, bundle] of Object.entries(BUNDLERS)) {
  describe(name, () => {
    for (const [major, folder] of Object.entries(UNDICI)) {
      const skip = !process.env.ONEWRITE_NIGHTLY && (name !== 'esbuild' || major !== 'undici 7') && 'of make nightly'
      test(major, { skip }, () => bundled(PROGRAM, bundle, folder, (file) => {
        if (major === 'undici 8' && !newEnough) return
        const { text, records, status, agent } = JSON.parse(execFileSync(process.execPath, ['--no-warnings', file], { encoding: 'utf8' }))
        assert.deepEqual([text, records, agent], ['ok', 1, 'function'])
        assert.deepEqual([status.enabled, status.base.supported], [true, true])
        assert.equal(status.patches['fetch and undici without a dispatcher'], 'on')
      }))
    }
  })
}

test('onewrite/opentelemetry can be bundled', () => bundled(
  "import { openTelemetry } from '../src/opentelemetry/index.js'\nopenTelemetry()\nconsole.log('loaded')", BUNDLERS.esbuild, UNDICI['undici 7'],
  (file) => assert.equal(execFileSync(process.execPath, ['--no-warnings', file], { encoding: 'utf8' }), 'loaded\n')))
