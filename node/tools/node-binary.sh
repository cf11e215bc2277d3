#!/usr/bin/env bash
# Prints the path of a Node of the given version: tools/node-binary.sh VERSION
# It comes from npm's platform packages, which need no install script, and stays under build/matrix.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

case "$(uname -sm)" in
  "Linux x86_64") platform=linux-x64 ;;
  "Linux aarch64") platform=linux-arm64 ;;
  "Darwin arm64") platform=darwin-arm64 ;;
  *) echo "there is no npm package of Node for $(uname -sm); use the Node that is installed: make test" >&2; exit 3 ;;
esac

folder="$here/build/matrix/node-$1"
if [ ! -x "$folder/node_modules/node-$platform/bin/node" ]; then
  mkdir -p "$folder"
  [ -f "$folder/package.json" ] || echo '{"private":true}' >"$folder/package.json"
  npm install --prefix "$folder" --ignore-scripts --no-save --loglevel=error "node-$platform@$1" >&2
fi
echo "$folder/node_modules/node-$platform/bin/node"
