#!/usr/bin/env bash
# Runs the tests on other versions, each in a copy of this folder, so that nothing built here changes. These are
# older clients and Netty 4.1 against the classes compiled for the newest, and a whole mvn verify on each JDK found.
# A run that fails does not end the others. The reports are in target/matrix.
# With arguments, only those: matrix.sh netty-4.1 okhttp-4.12 jdk-25
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
here=$PWD
reports=$here/target/matrix
wanted=" $* "
mkdir -p "$reports"
failed=()

# A version that the parent pom names: netty.version, or netty.oldest.
named() { sed -n "s|^ *<$1>\(.*\)</$1>.*|\1|p" pom.xml reactor-netty/pom.xml | head -1; }
netty=$(named netty.oldest) okhttp=$(named okhttp.oldest) reactor=$(named reactor-netty.oldest)

is_wanted() { [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]; }

in_copy() { # what, command…
  local what=$1 work module status=0
  shift
  is_wanted "$what" || return 0
  wanted=${wanted/ $what / }
  echo "== $what"
  work=$(mktemp -d)
  mkdir "$work/java"
  tar -C "$here" --exclude ./target --exclude './*/target' -cf - . | tar -C "$work/java" -xf -
  cp "$here/../VERSION" "$work/"
  mkdir "$work/spec"
  cp -r "$here/../spec/testdata" "$here/../spec/events.yaml" "$work/spec/"
  (cd "$work/java" && "$@") || status=$?
  rm -rf "${reports:?}/$what"
  for module in "$work"/java/*/target/surefire-reports; do
    [ -d "$module" ] || continue
    module=${module%/target/surefire-reports}
    mkdir -p "$reports/$what/${module##*/}"
    cp "$module"/target/surefire-reports/TEST-*.xml "$reports/$what/${module##*/}/" 2>/dev/null || true
  done
  rm -rf "$work"
  [ "$status" -eq 0 ] || failed+=("$what")
}

on_other_version() { # modules, properties…
  local modules=$1
  shift
  mvn -B -q -DskipTests package
  mvn -B -q -pl "$modules" -Dmaven.main.skip=true "$@" test
}

# Which JDK compiles is not the question: its own warnings of newer code do not fail the build.
on_jdk() { JAVA_HOME=$1 mvn -B -q -Dwerror= verify; }

in_copy netty-4.1 on_other_version testing,core,netty "-Dnetty.version=$netty" -Donewrite.netty-4.1=true
in_copy okhttp-4.12 on_other_version testing,core,okhttp -Dokhttp.artifact=okhttp "-Dokhttp.version=$okhttp"
for versions in spring-6/1.2.11 "reactor-netty-1.1/$reactor"; do
  IFS=/ read -r what version <<<"$versions"
  in_copy "$what" on_other_version testing,core,netty,reactor-netty -Donewrite.netty-4.1=true \
    "-Dnetty.version=$netty" "-Dreactor-netty.version=$version" -Dspring.version=6.2.12
done
for java in /usr/lib/jvm/*/bin/javac; do
  [ -x "$java" ] || continue
  home=${java%/bin/javac}
  release=$("$home/bin/java" -XshowSettings:properties -version 2>&1 | awk '/java.specification.version =/{print $3}')
  case $release in
    1.* | 8 | 9 | 1[0-6]) ;;
    *)
      [ ! -L "$home" ] || continue
      in_copy "jdk-$release" on_jdk "$home"
      ;;
  esac
done
read -ra unknown <<<"$wanted"
[ ${#unknown[@]} -eq 0 ] || {
  echo "matrix.sh: there is no ${unknown[*]} here" >&2
  exit 2
}
[ ${#failed[@]} -eq 0 ] || {
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
}
