#!/usr/bin/env bash
# Runs the tests of the classes as built on other versions: Netty 4.1, OkHttp 4, and each newer JDK found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

run() { # what, modules, properties…
  local what=$1 modules=$2
  shift 2
  echo "== $what"
  mvn -B -q -pl "$modules" -Dmaven.main.skip=true "$@" test
  mkdir -p "target/matrix/$what"
  cp ./*/target/surefire-reports/TEST-*.xml "target/matrix/$what/" 2>/dev/null || true
}

mvn -B -q -DskipTests package
run netty-4.1 core,netty -Dnetty.version=4.1.128.Final
run okhttp-4.12 core,okhttp -Dokhttp.artifact=okhttp -Dokhttp.version=4.12.0
for java in /usr/lib/jvm/*/bin/java; do
  [ -x "$java" ] || continue
  release=$("$java" -XshowSettings:properties -version 2>&1 | awk '/java.specification.version =/{print $3}')
  case $release in
    1.* | 8 | 9 | 1[0-7]) ;;
    *) run "jdk-$release" core,netty,okhttp "-Djvm=$java" ;;
  esac
done
# Left as found: the next build is on the default versions again.
mvn -B -q -DskipTests package
