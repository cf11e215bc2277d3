// Runs test files in random order, two at a time, and writes a JUnit report.
// usage: node test/all.js REPORT FILE…     environment: SEED; TEST=FILE or TEST=FILE::NAME runs that alone; LIMIT_S for a file

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { inspect } from 'node:util'

const LIMIT_S = Number(process.env.LIMIT_S || 300)

const [report, ...files] = process.argv.slice(2)
const [only, name] = (process.env.TEST || '').split(/::(.*)/s)
let cases = await play(only ? [only] : shuffled(files, Number(process.env.SEED)))
// A file with a failed test runs again, at most twice; the summary of `make test` reads the lines that name the tests.
for (let turn = 0; turn < 2 && failed().length; turn++) {
  const again = new Set(failed().map((test) => test.file))
  const played = await play([...again])
  for (const { file, name } of failed()) {
    if (played.some((test) => test.file === file && test.name === name && !test.error)) console.log(`RERUN ${file}::${name.replace(/\s/g, '_')}`)
  }
  cases = [...cases.filter((test) => !again.has(test.file)), ...played]
}
mkdirSync(dirname(report), { recursive: true })
writeFileSync(report, `<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n${cases.map(xml).join('')}</testsuites>\n`)
process.exitCode = failed().length ? 1 : 0

function failed () {
  return cases.filter((test) => test.error)
}

/** Runs the files, two at a time; resolves to their tests. */
async function play (files) {
  const events = run({
    files: files.map((file) => resolve(file)),
    testNamePatterns: name ? [new RegExp(`(^| )${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`)] : undefined,
    concurrency: 2,
    timeout: LIMIT_S * 1000
  })
  const tests = []
  const note = ({ name, file, details, skip }) => {
    if (details.type === 'suite' || skip === 'test name does not match pattern') return
    const { error } = details
    tests.push({ file: relative('.', file), name, skip, seconds: details.duration_ms / 1000, error: error && (error.cause ?? error) })
  }
  events.on('test:pass', note).on('test:fail', note)
  await pipeline(events, new spec(), process.stdout, { end: false }) // eslint-disable-line new-cap
  return tests
}

function xml ({ file, name, skip, seconds, error }) {
  const inner = error
    ? `<failure message="${escaped(error.message)}">${escaped(inspect(error))}</failure>`
    : skip === undefined ? '' : `<skipped message="${escaped(skip === true ? '' : skip)}"/>`
  return `<testcase file="${escaped(file)}" name="${escaped(name)}" time="${seconds.toFixed(3)}">${inner}</testcase>\n`
}

/** XML has no control characters. */
function escaped (text) {
  return String(text).replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD]/g, '?')
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** The same order for the same seed (Fisher-Yates over a linear congruential generator). */
function shuffled (list, seed) {
  const order = [...list]
  let state = seed
  for (let last = order.length - 1; last > 0; last--) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const other = Math.floor(state / 2 ** 32 * (last + 1));
    [order[last], order[other]] = [order[other], order[last]]
  }
  return order
}
