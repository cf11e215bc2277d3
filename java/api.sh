#!/usr/bin/env bash
# Compares the public API of what is published with the jars of a release (japicmp): what breaks a caller fails.
# usage: api.sh BASELINE MODULE…   BASELINE holds onewrite-MODULE-VERSION.jar, at any depth: Maven Central's or make package's
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[ -n "${1:-}" ] || {
  echo "say where the jars of the last release are: make api BASELINE=folder" >&2
  exit 2
}
baseline=$(cd "$1" && pwd)
shift
old=$PWD/target/api-baseline
rm -rf "$old"
mkdir -p "$old"
for module in "$@"; do
  while read -r jar; do
    case $jar in
      *-sources.jar | *-javadoc.jar) ;;
      *) [ -f "$jar" ] && cp "$jar" "$old/onewrite-$module.jar" ;;
    esac
  done < <(find "$baseline" -name "onewrite-$module-[0-9]*.jar")
  # A module that the release did not have is new: nothing to compare.
done
mvn -B -q -Papi -DskipTests -Dapi.baseline="$old" verify -pl "testing,$(
  IFS=,
  echo "$*"
)"
echo "no public API of $* breaks its callers"
