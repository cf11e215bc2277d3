#!/usr/bin/env bash
# Compiles and runs the README's quick start against the packages in a folder, with Netty's jars and no class of this tree.
# usage: package-smoke.sh PACKAGES
set -euo pipefail
packages=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(<"$here/../VERSION")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^## Use$/ {use = 1} use && /^```java$/ {code = 1; next} code && /^```$/ {exit} code' "$here/README.md" \
  >"$work/Example.java"
classpath=$packages/onewrite-core-$version.jar:$packages/onewrite-netty-$version.jar
classpath+=:$(tr ':' '\n' <"$here/driver/target/classpath" | grep '/io/netty/' | paste -sd:)
javac -d "$work" -cp "$classpath" "$work/Example.java"
python3 "$here/one_segment.py" java -cp "$work:$classpath" Example
