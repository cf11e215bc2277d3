#!/usr/bin/env bash
# Copies the JUnit reports of all modules to ONEWRITE_REPORTS, under names that begin with java-.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
to=${ONEWRITE_REPORTS:-../build/reports}
mkdir -p "$to"
for report in */target/surefire-reports/TEST-*.xml; do
  [ -f "$report" ] || continue
  name=${report##*/TEST-io.github.onewrite.}
  cp "$report" "$to/java-$name"
done
