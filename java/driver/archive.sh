#!/usr/bin/env bash
# Writes target/classes.jsa: the classes a driver loads, ready to be mapped (JEP 350). Without it the driver starts, only slower.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
archive=$here/target/classes.jsa
rm -f "$archive"
{
  seq=0
  for client in onewrite patched stock control; do
    seq=$((seq + 1))
    echo "{\"cmd\": \"hello\", \"seq\": $seq, \"protocol\": 1, \"client\": \"$client\"}"
  done
  echo "{\"cmd\": \"bye\", \"seq\": $((seq + 1))}"
} | "${JAVA:-java}" -XX:+UseSerialGC -Xlog:disable -XX:ArchiveClassesAtExit="$archive" \
  -cp "$here/target/onewrite-driver.jar:$(<"$here/target/classpath")" io.github.onewrite.driver.Main >/dev/null ||
  rm -f "$archive"
