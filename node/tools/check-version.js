// Checks that the package and its lock file have the repository's version, and that no lock file names a registry.

import { readFileSync } from 'node:fs'

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8')
const version = read('../../VERSION').trim()
const lock = read('../package-lock.json')
const problems = []
if (JSON.parse(read('../package.json')).version !== version) problems.push(`package.json is not version ${version}`)
if (JSON.parse(lock).version !== version) problems.push(`package-lock.json is not version ${version}`)
if (lock.includes('"resolved"')) problems.push('package-lock.json names a registry: npm install with the .npmrc of this folder')
for (const problem of problems) process.stderr.write(`${problem}\n`)
process.exitCode = problems.length > 0 ? 1 : 0
