// Runs test files in random order, two at a time, and writes a JUnit report.
// usage: node test/all.js REPORT FILE…     environment: SEED; TEST=FILE or TEST=FILE::NAME runs that alone; LIMIT_S for a file

import { createWriteStream } from 'node:fs'
import { relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { inspect } from 'node:util'

const LIMIT_S = Number(process.env.LIMIT_S || 400)

const [report, ...files] = process.argv.slice(2)
const [only, name] = (process.env.TEST || '').split(/::(.*)/s)
const events = run({
  files: (only ? [only] : shuffled(files, Number(process.env.SEED))).map((file) => resolve(file)),
  testNamePatterns: name ? [new RegExp(`(^| )${name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$`)] : undefined,
  concurrency: 2,
  timeout: LIMIT_S * 1000
})
const cases = []
events.on('test:pass', (test) => note(test))
events.on('test:fail', (test) => {
  note(test)
  process.exitCode = 1
})
events.once('end', () => {
  const file = createWriteStream(report)
  file.end(`<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n${cases.join('')}</testsuites>\n`)
})
events.compose(new spec()).pipe(process.stdout) // eslint-disable-line new-cap

function note ({ name, file, details, skip }) {
  if (details.type === 'suite' || skip === 'test name does not match pattern') return
  const { error } = details
  const inner = error
    ? `<failure message="${escaped(error.cause?.message ?? error.message)}">${escaped(inspect(error.cause ?? error))}</failure>`
    : skip === undefined ? '' : `<skipped message="${escaped(skip === true ? '' : skip)}"/>`
  const seconds = (details.duration_ms / 1000).toFixed(3)
  cases.push(`<testcase file="${escaped(relative('.', file))}" name="${escaped(name)}" time="${seconds}">${inner}</testcase>\n`)
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
