#!/usr/bin/env bash
# Runs the tests on other versions of Node and undici: tools/matrix.sh [NODE[:UNDICI]…], default all.
# A prefix is enough: 22 is each 22.x, 24.14:8 is 24.14.1 with undici 8.
# Node comes from npm's platform packages, which need no install script. Everything stays under build/matrix.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work="$here/build/matrix"
reports=${ONEWRITE_REPORTS:-$here/../build/reports}
# NODE:UNDICI. First the lowest versions that README.md promises, then the newest of each line;
# 24.14.1 is the last 24 whose https sockets lack TCP_NODELAY.
pairs=(
  20.18.1:7.29.1 22.19.0:7.29.1 22.19.0:8.10.1
  20.20.2:7.30.2 22.23.3:7.30.2 22.23.3:8.13.1
  24.14.1:7.30.2 24.14.1:8.13.1 24.21.0:7.30.2 24.21.0:8.13.1
  26.10.0:7.30.2 26.10.0:8.13.1
)
mkdir -p "$work" "$reports"

checkout() { # UNDICI: a copy of this package beside that undici
  local folder="$work/undici-$1"
  mkdir -p "$folder/node"
  cp "$here/../VERSION" "$folder/"
  mkdir -p "$folder/spec"
  cp -r "$here/../spec/testdata" "$here/../spec/events.yaml" "$folder/spec/"
  for part in src test driver bench examples tools package.json package-lock.json README.md .npmrc; do
    rm -rf "${folder:?}/node/$part"
    cp -r "$here/$part" "$folder/node/"
  done
  if ! cmp -s "$here/package-lock.json" "$folder/node/node_modules/.ready"; then
    rm -rf "$folder/node/node_modules"
    cp -al "$here/node_modules" "$folder/node/node_modules"
    npm install --prefix "$folder/node" --ignore-scripts --no-save --force --loglevel=error "undici@$1" >&2
    cp "$here/package-lock.json" "$folder/node/node_modules/.ready"
  fi
  echo "$folder/node"
}

wanted=("$@")
failed=()

is_wanted() { # NODE UNDICI
  [ ${#wanted[@]} -eq 0 ] && return 0
  local each
  for each in "${wanted[@]}"; do
    case "$1.:$2." in "${each%%:*}."*) ;; *) continue ;; esac
    case "$each" in *:*) case "$2." in "${each#*:}."*) return 0 ;; esac ;; *) return 0 ;; esac
  done
  return 1
}

for pair in "${pairs[@]}"; do
  node=${pair%%:*} undici=${pair#*:}
  is_wanted "$node" "$undici" || continue
  binary=$("$here/tools/node-binary.sh" "$node")
  folder=$(checkout "$undici")
  echo "== Node $node, undici $undici"
  report="$reports/node-matrix-$node-undici-$undici.xml"
  if (cd "$folder" && timeout 500 "$binary" --test --test-concurrency=2 --test-timeout=400000 --test-reporter=dot --test-reporter-destination=stdout \
    --test-reporter=junit --test-reporter-destination="$report" test/*.test.js); then
    echo "passed"
  else
    failed+=("Node $node with undici $undici")
  fi
done
if [ ${#failed[@]} -gt 0 ]; then printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; fi
