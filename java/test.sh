#!/usr/bin/env bash
# Runs the tests in random order and copies their JUnit reports.
# usage: test.sh REPORT.xml [MAVEN-ARGUMENT…]     writes REPORT.CLASS.xml for each class
# environment: SEED; TEST=CLASS or TEST=CLASS#METHOD runs that alone; EACH=1 starts a new process for each class
# exit: Maven's, which is 0 where tests failed and nothing else; 2 where Maven's is 1
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
report=${1%.xml}
shift

rm -rf ./*/target/surefire-reports
options=(
  -Dmaven.test.failure.ignore=true
  -Djunit.jupiter.execution.order.random.seed="${SEED:-0}"
  "-Djunit.jupiter.testclass.order.default=org.junit.jupiter.api.ClassOrderer\$Random"
  "-Djunit.jupiter.testmethod.order.default=org.junit.jupiter.api.MethodOrderer\$Random"
)
[ -z "${EACH:-}" ] || options+=(-DreuseForks=false)
if [ -n "${TEST:-}" ]; then
  # Surefire selects a method, not one call of a parameterized one.
  options+=(-Dtest="${TEST%%[\[(\{]*}" -Dsurefire.failIfNoSpecifiedTests=false)
fi
status=0
../.ci/mvn -fae test "${options[@]}" "$@" || status=2
for found in */target/surefire-reports/TEST-*.xml; do
  [ -f "$found" ] || continue
  name=${found##*/TEST-io.github.onewrite.}
  cp "$found" "$report.$name"
done
exit "$status"
