// Runs undici's own test files with stock undici, and with this package's classes, without hooks and with a hook. A test
// that passes with stock and fails with ours is a deviation: it must be listed in deviations.json with its reason. A listed
// one that passes everywhere fails the run, too.
// node suites/run.js [--undici VERSION]… [part of a file's path]…
//
// The tests come from undici's repository, which is not part of this one: a clone, bare or not, at ../build/outside/undici
// or UNDICI_SRC. The newest tag that is not newer than the library is used. Nothing of it is kept here.

import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = fileURLToPath(new URL('.', import.meta.url))
const adapter = join(here, '..')
const source = process.env.UNDICI_SRC ?? join(adapter, '..', 'build', 'outside', 'undici')
const work = join(adapter, 'build', 'suites')

/** Folders of tests that are run; '' is test/ itself. The others test browser standards, fuzzing or types, or need the network. */
const FOLDERS = ['', 'node-test', 'interceptors', 'cache-interceptor', 'node-fetch', 'fetch', 'websocket', 'eventsource', 'mock']
/** What the test files require beside undici. */
const TEST_PACKAGES = [
  '@fastify/busboy', '@matteo.collina/tspl', '@metcoder95/https-pem', '@sinonjs/fake-timers', 'abort-controller', 'dns-packet',
  'fast-check', 'node-forge', 'proxy', 'ws'
]
const MODES = ['plain', 'hooks']
const LIMIT_MS = 60_000
const WORKERS = 2
const TRIES = 3

const { values, positionals } = parseArgs({ allowPositionals: true, options: { undici: { type: 'string', multiple: true } } })
const deviations = JSON.parse(readFileSync(join(here, 'deviations.json'), 'utf8'))

await main()

async function main () {
  if (!existsSync(source)) {
    console.log(`undici's own tests: skipped, there is no clone of github.com/nodejs/undici at ${source} (UNDICI_SRC names another place)`)
    return
  }
  let good = true
  for (const version of values.undici ?? ['7.30.2', '8.13.1']) {
    if (version.startsWith('8.') && !process.versions.node.match(/^(22\.(19|[2-9]\d)|2[3-9]|[3-9]\d)\./)) {
      console.log(`undici ${version}: skipped, it needs Node 22.19 and this is ${process.versions.node}`)
      continue
    }
    good = await runVersion(version) && good
  }
  process.exitCode = good ? 0 : 1
}

/** @param {string} version of undici */
async function runVersion (version) {
  const tag = newestTag(version)
  const root = prepare(version, tag)
  const files = testFiles(root).filter((file) => positionals.length === 0 || positionals.some((text) => file.includes(text)))
  /** @type {Record<string, {passed: number, failed: string[]}>} */
  const sums = Object.fromEntries(['stock', ...MODES].map((mode) => [mode, { passed: 0, failed: [] }]))
  const unexpected = []
  const met = new Set()
  const queue = [...files]
  const worker = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const stock = await runFile(version, root, file, 'stock')
      add(sums.stock, stock)
      for (const mode of MODES) {
        const { results, worse } = await runUntilGood(version, root, file, mode, stock)
        add(sums[mode], results)
        for (const { name, error } of worse) {
          const known = deviations.findIndex((each) => matches(each, version, mode, file, name))
          if (known >= 0) met.add(known)
          else unexpected.push({ mode, file, name, error })
        }
      }
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, worker))

  console.log(`undici ${version}, tests of ${tag}, Node ${process.versions.node}: ${files.length} files`)
  for (const [mode, { passed, failed }] of Object.entries(sums)) console.log(`  ${mode}: ${passed} pass, ${failed.length} fail`)
  console.log(`  ${met.size} known deviations were met`)
  for (const { mode, file, name, error } of unexpected) console.log(`  NEW in ${mode}: ${file}: ${name}\n    ${String(error).replaceAll('\n', '\n    ')}`)
  const stale = positionals.length > 0
    ? []
    : deviations.filter((each, index) => !met.has(index) && new RegExp(`^${each.undici ?? '\\d'}\\.`).test(version) && files.includes(each.file))
  for (const each of stale) console.log(`  no deviation any more: ${each.file}: ${each.test}`)
  return unexpected.length === 0 && stale.length === 0
}

function matches (known, version, mode, file, name) {
  return (known.undici === undefined || version.startsWith(`${known.undici}.`)) && (known.mode === undefined || known.mode === mode) &&
    known.file === file && (known.test === '*' || known.test === name)
}

/** A test that fails once may have had bad luck: it is a deviation when it fails each time. */
async function runUntilGood (version, root, file, mode, stock) {
  const good = new Set(stock.filter(({ passed }) => passed).map(({ name }) => name))
  let results = []
  /** @type {any[]} */
  let worse = []
  for (let round = 0; round < TRIES; round++) {
    results = await runFile(version, root, file, mode)
    const passed = new Set(results.filter((each) => each.passed).map(({ name }) => name))
    const failed = new Map(results.filter((each) => !each.passed).map((each) => [each.name, each]))
    const now = [...good].filter((name) => !passed.has(name)).map((name) => failed.get(name) ?? { name, error: 'it did not end' })
    worse = round === 0 ? now : worse.filter(({ name }) => now.some((each) => each.name === name))
    if (worse.length === 0) break
  }
  return { results, worse }
}

function add (sum, results) {
  for (const { name, passed } of results) {
    if (passed) sum.passed++
    else sum.failed.push(name)
  }
}

/** @returns {Promise<{name: string, passed: boolean, error?: string}[]>} */
function runFile (version, root, file, mode) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [
      '--expose-gc', '--no-warnings', '--require', join(here, 'ours.cjs'), '--test-reporter', join(here, 'reporter.mjs'), join(root, 'test', file)
    ], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, ONEWRITE_SUITE_ROOT: root, ONEWRITE_SUITE_MODE: mode, ONEWRITE_SUITE_SKIP: JSON.stringify(hanging(version, mode, file)) } })
    let text = ''
    child.stdout.on('data', (data) => { text += data })
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS)
    child.on('close', () => {
      clearTimeout(timer)
      const seen = new Map()
      const results = []
      for (const line of text.split('\n')) {
        if (!line.startsWith('{"name":')) continue
        try {
          const result = JSON.parse(line)
          const count = (seen.get(result.name) ?? 0) + 1
          seen.set(result.name, count)
          results.push(count === 1 ? result : { ...result, name: `${result.name} #${count}` })
        } catch {}
      }
      resolve(results)
    })
  })
}

/** Tests of the file that are known not to end with this package. They are not begun. */
function hanging (version, mode, file) {
  return deviations.filter((each) => each.hangs && matches(each, version, mode, file, each.test)).map((each) => each.test)
}

function git (...args) {
  return execFileSync('git', ['-C', source, ...args], { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] })
}

/** @param {string} version */
function newestTag (version) {
  const numbers = (text) => text.split('.').map(Number)
  const compare = (a, b) => a.map((part, index) => part - b[index]).find((difference) => difference !== 0) ?? 0
  const tags = git('tag', '--list', `v${version.split('.')[0]}.*`).toString().split('\n').filter((tag) => /^v\d+\.\d+\.\d+$/.test(tag))
    .map((tag) => numbers(tag.slice(1))).filter((tag) => compare(tag, numbers(version)) <= 0).sort(compare)
  if (tags.length === 0) throw new Error(`${source} has no tag for undici ${version}`)
  return `v${tags.at(-1).join('.')}`
}

/** undici as npm has it, its tests, what they need, and a copy of this package that finds this undici. */
function prepare (version, tag) {
  const root = join(work, `undici-${version}`)
  const ready = join(root, '.ready')
  if (!existsSync(ready) || readFileSync(ready, 'utf8') !== tag) {
    rmSync(root, { recursive: true, force: true })
    const fresh = join(root, 'fresh')
    mkdirSync(fresh, { recursive: true })
    writeFileSync(join(fresh, 'package.json'), '{"private":true}')
    const wanted = JSON.parse(git('show', `${tag}:package.json`).toString()).devDependencies
    const packages = TEST_PACKAGES.map((name) => `${name}@${wanted[name]}`)
    execFileSync('npm', ['install', '--prefix', fresh, '--ignore-scripts', '--no-save', '--force', '--loglevel=error', `undici@${version}`, ...packages], { stdio: 'inherit' })
    cpSync(join(fresh, 'node_modules', 'undici'), root, { recursive: true })
    cpSync(join(fresh, 'node_modules'), join(root, 'node_modules'), { recursive: true, filter: (path) => !/node_modules\/undici(\/|$)/.test(path) })
    rmSync(fresh, { recursive: true })
    symlinkSync(root, join(root, 'node_modules', 'undici'))
    // Not in the published package: the tests, and the source of the bundle, which some tests read.
    const archive = git('archive', tag, 'test', 'index-fetch.js', 'scripts')
    execFileSync('tar', ['-x', '-C', root], { input: archive })
    execFileSync(process.execPath, ['scripts/generate-pem.js'], { cwd: root, stdio: 'ignore' })
    writeFileSync(ready, tag)
  }
  const copy = join(root, 'node_modules', 'onewrite')
  rmSync(copy, { recursive: true, force: true })
  for (const part of ['package.json', 'src']) cpSync(join(adapter, part), join(copy, part), { recursive: true })
  return root
}

function testFiles (root) {
  return FOLDERS.flatMap((folder) => {
    const path = join(root, 'test', folder)
    if (!existsSync(path)) return []
    return readdirSync(path).filter((name) => name.endsWith('.js')).sort().map((name) => join(folder, name))
  })
}
