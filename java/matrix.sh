#!/usr/bin/env bash
# Runs the tests on other versions, each in a copy of this folder, so that what is built here stays as it is:
# older clients and Netty 4.1 against the classes compiled for the newest, and a whole mvn verify on each JDK found.
# With arguments, only those: matrix.sh netty-4.1 okhttp-4.12 jdk-25
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
here=$PWD
reports=$here/target/matrix
wanted=" $* "
mkdir -p "$reports"

is_wanted() { [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]; }

in_copy() { # what, command…
  local what=$1 work status=0
  shift
  is_wanted "$what" || return 0
  wanted=${wanted/ $what / }
  echo "== $what"
  work=$(mktemp -d)
  mkdir "$work/java"
  tar -C "$here" --exclude ./target --exclude './*/target' -cf - . | tar -C "$work/java" -xf -
  cp "$here/../VERSION" "$work/"
  mkdir "$work/spec" && cp -r "$here/../spec/testdata" "$work/spec/"
  (cd "$work/java" && "$@") || status=$?
  mkdir -p "$reports/$what"
  cp "$work"/java/*/target/surefire-reports/TEST-*.xml "$reports/$what/" 2>/dev/null || true
  rm -rf "$work"
  return "$status"
}

on_other_version() { # modules, properties…
  local modules=$1
  shift
  mvn -B -q -DskipTests package
  mvn -B -q -pl "$modules" -Dmaven.main.skip=true "$@" test
}

# Which JDK compiles is not the question: its own warnings of newer code do not fail the build.
on_jdk() { JAVA_HOME=$1 mvn -B -q -Dwerror= verify; }

in_copy netty-4.1 on_other_version testing,core,netty-handlers,netty -Dnetty.version=4.1.128.Final -Donewrite.netty-4.1=true
in_copy okhttp-4.12 on_other_version core,okhttp -Dokhttp.artifact=okhttp -Dokhttp.version=4.12.0
in_copy spring-6 on_other_version testing,core,netty-handlers,reactor-netty -Donewrite.netty-4.1=true \
  -Dnetty.version=4.1.128.Final -Dreactor-netty.version=1.2.11 -Dspring.version=6.2.12
in_copy reactor-netty-1.1 on_other_version testing,core,netty-handlers,reactor-netty -Donewrite.netty-4.1=true \
  -Dnetty.version=4.1.128.Final -Dreactor-netty.version=1.1.31 -Dspring.version=6.2.12
for versions in 3.4.11/6.2.12/1.2.11 3.2.12/6.1.21/1.1.31; do
  IFS=/ read -r boot spring reactor <<<"$versions"
  in_copy "spring-boot-${boot%.*}" on_other_version testing,core,netty-handlers,reactor-netty,spring-boot \
    -Donewrite.netty-4.1=true -Dnetty.version=4.1.128.Final -Dspring.version=6.2.12 -Dreactor-netty.version="$reactor" \
    -Dspring-boot.version="$boot" -Dspring-boot.spring.version="$spring" \
    -Dtest='OnewriteAutoConfigurationTest' -Dsurefire.failIfNoSpecifiedTests=false
done
in_copy ahc-3.0.1 on_other_version testing,core,netty-handlers,ahc -Donewrite.netty-4.1=true \
  -Dnetty.version=4.1.128.Final -Dahc.version=3.0.1
for java in /usr/lib/jvm/*/bin/javac; do
  [ -x "$java" ] || continue
  home=${java%/bin/javac}
  release=$("$home/bin/java" -XshowSettings:properties -version 2>&1 | awk '/java.specification.version =/{print $3}')
  case $release in
    1.* | 8 | 9 | 1[0-6]) ;;
    *) [ -L "${java%/bin/javac}" ] || in_copy "jdk-$release" on_jdk "$home" ;;
  esac
done
read -ra unknown <<<"$wanted"
[ ${#unknown[@]} -eq 0 ] || {
  echo "matrix.sh: there is no ${unknown[*]} here" >&2
  exit 2
}
