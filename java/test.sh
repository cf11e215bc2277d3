#!/usr/bin/env bash
# Runs the tests in random order and copies their JUnit reports.
# usage: test.sh REPORT.xml [MAVEN-ARGUMENT…]     writes REPORT.CLASS.xml for each class
# environment: SEED; TEST=CLASS or TEST=CLASS#METHOD runs that alone
# exit: Maven's; a test that fails runs again, at most twice, and Surefire's reports name it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
report=${1%.xml}
shift

rm -rf ./*/target/surefire-reports
options=(
  -Dsurefire.rerunFailingTestsCount=2
  -Djunit.jupiter.execution.order.random.seed="${SEED:-0}"
  # A test that hangs, even in a wait that ignores interrupts, ends with the stacks of all threads.
  -Djunit.jupiter.execution.timeout.default=100s
  -Djunit.jupiter.execution.timeout.thread.mode.default=SEPARATE_THREAD
  -Djunit.jupiter.execution.timeout.threaddump.enabled=true
  "-Djunit.jupiter.testclass.order.default=org.junit.jupiter.api.ClassOrderer\$Random"
  "-Djunit.jupiter.testmethod.order.default=org.junit.jupiter.api.MethodOrderer\$Random"
)
if [ -n "${TEST:-}" ]; then
  # Surefire selects a method, not one call of a parameterized one.
  options+=(-Dtest="${TEST%%[\[(\{]*}" -Dsurefire.failIfNoSpecifiedTests=false)
fi
status=0
../.ci/mvn -fae test "${options[@]}" "$@" || status=$?
for found in */target/surefire-reports/TEST-*.xml; do
  [ -f "$found" ] || continue
  name=${found##*/TEST-io.github.onewrite.}
  cp "$found" "$report.$name"
done
exit "$status"
