#!/usr/bin/env bash
# Fails when a pom carries another version than the file VERSION.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
want=$(<../VERSION)
for pom in pom.xml */pom.xml; do
  got=$(grep -m 1 -oE '<version>[^<]+' "$pom")
  if [ "${got#<version>}" != "$want" ]; then
    echo "java/$pom has version ${got#<version>}, VERSION says $want" >&2
    exit 1
  fi
done
