#!/usr/bin/env bash
# Writes target/classes.jsa: the classes a driver loads, ready to be mapped (JEP 350). Without it the driver starts, only slower.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
archive=$here/target/classes.jsa
rm -f "$archive"
"${JAVA:-java}" -XX:+UseSerialGC -Xlog:disable -XX:ArchiveClassesAtExit="$archive" \
  -cp "$here/target/onewrite-driver.jar:$(<"$here/target/classpath")" io.github.onewrite.driver.Main --warm-up </dev/null >/dev/null ||
  rm -f "$archive"
