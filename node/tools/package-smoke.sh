#!/usr/bin/env bash
# Installs a built package into an empty folder and POSTs a form through it: tools/package-smoke.sh FOLDER_WITH_TGZ
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=$(cat "$here/../VERSION")
package=$(cd "$1" && pwd)/onewrite-$version.tgz
[ -f "$package" ] || { echo "$package is not there: make package PACKAGES=$1" >&2; exit 3; }
undici=$(cd "$here" && node -p 'require("./package.json").devDependencies.undici')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/test/support/tap.js" "$work/tap.mjs"
cp "$here/test/support/tcp_info.py" "$work/" # tap.js starts it
cat >"$work/smoke.mjs" <<'SCRIPT'
import { createRequire } from 'node:module'
import { request } from 'undici'
import { Agent } from 'onewrite'
import { startTap } from './tap.mjs'

const tap = await startTap()
const agent = new Agent({ connections: 1, onTiming: (record) => console.log(String(record)) })
for (let round = 0; round < 21; round++) {
  const body = (async function * () { yield 'one'; yield 'write' })()
  const response = await request(tap.origin, { dispatcher: agent, method: 'POST', body })
  await response.body.dump()
}
await agent.close()
const required = typeof createRequire(import.meta.url)('onewrite').Agent === 'function'
const segments = tap.mode('segments')
await tap.close()
console.log(`onewrite ${createRequire(import.meta.url)('onewrite/package.json').version}: ${segments} segment per POST, require ${required ? 'works' : 'fails'}`)
process.exitCode = segments === 1 && required ? 0 : 1
SCRIPT
cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error "$package" "undici@$undici"
node smoke.mjs | tail -n 2
test -f node_modules/onewrite/types/index.d.ts
test -f node_modules/onewrite/LICENSE
