// Imports of src/ run one way: seams, then timing and wire, then config, errors and base-version.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../src/', import.meta.url))
const files = readdirSync(src, { recursive: true }).map(String).filter((name) => /\.c?js$/.test(name))
/** What is imported to run; types may name each other. @type {Map<string, string[]>} */
const imports = new Map(files.map((file) => [file, [...readFileSync(join(src, file), 'utf8').matchAll(/^(?:import|export) (?:[^'\n]* from )?'(\.[^']+)'|await import\('(\.[^']+)'\)/gm)]
  .map((match) => normalize(join(dirname(file), match[1] ?? match[2] ?? '')))]))

test('every import names a file', () => {
  assert.ok(files.length > 20)
  for (const [file, names] of imports) for (const name of names) assert.ok(imports.has(name), `${file} imports ${name}`)
})

test('there are no import cycles', () => {
  const done = new Set()
  const visit = (file, path) => {
    assert.ok(!path.includes(file), [...path, file].join(' -> '))
    if (done.has(file)) return
    for (const name of imports.get(file) ?? []) visit(name, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
})

const roomOf = (file) => file.includes('/') ? dirname(file) : ''
/** Which rooms a room may import from; '' is the root. */
const ALLOWED = { wire: ['wire', ''], timing: ['timing', ''], undici: ['undici', 'timing', 'wire', ''], http: ['http', 'timing', 'wire', ''], opentelemetry: ['opentelemetry', 'timing', ''] }
const BASE = ['config.js', 'errors.js', 'patch.js', 'base-version.js', 'version.js']

for (const [room, allowed] of Object.entries(ALLOWED)) {
  test(`${room}/ imports from ${allowed.map((each) => each === '' ? BASE.join(', ') : `${each}/`).join(', ')} alone`, () => {
    for (const [file, names] of imports) {
      if (roomOf(file) !== room) continue
      for (const name of names) assert.ok(allowed.includes(roomOf(name)) && (roomOf(name) !== '' || BASE.includes(name)), `${file} imports ${name}`)
    }
  })
}
