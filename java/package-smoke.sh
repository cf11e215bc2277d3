#!/usr/bin/env bash
# Compiles and runs programs against the packages in a folder, a Maven repository, and the jars of their base libraries,
# with no class of this tree: an example with each customizer on the class path, and the README's quick start as a module.
# usage: package-smoke.sh PACKAGES
set -euo pipefail
packages=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(<"$here/../VERSION")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk '/^## Switch on$/ {use = 1} use && /^```java$/ {code = 1; next} code && /^```$/ {exit} code' "$here/README.md" \
  >"$work/Example.java"
ours() { # module
  echo "$packages/io/github/onewrite/onewrite-$1/$version/onewrite-$1-$version.jar"
}

core=$(ours core)
handlers=$core:$(ours netty)

posts() { # class, source, classpath
  mkdir "$work/$1"
  javac -d "$work/$1" -cp "$3" "$2"
  python3 "$here/one_segment.py" java -cp "$work/$1:$3" "$1"
}

posts_as_module() { # class, source, module it requires, module path
  local from=$work/$1-module
  mkdir -p "$from/smoke"
  echo "module smoke { requires $3; }" >"$from/module-info.java"
  { echo "package smoke;" && cat "$2"; } >"$from/smoke/$1.java"
  javac -d "$from/classes" --module-path "$4" "$from/module-info.java" "$from/smoke/$1.java"
  python3 "$here/one_segment.py" java --module-path "$from/classes:$4" --module "smoke/smoke.$1"
}

of_module() { # the jars that the module uses, without those made here
  tr ':' '\n' <"$here/$1/target/classpath" | grep -v "^$here/" | grep "${2:-}" | paste -sd:
}

posts NettyPost "$here/examples/NettyPost.java" "$handlers:$(of_module driver /io/netty/)"
okhttp=$core:$(ours okhttp):$(of_module driver '/okhttp3/\|/okio/\|/org/jetbrains/')
posts OkHttpPost "$here/examples/OkHttpPost.java" "$okhttp"
posts_as_module Example "$work/Example.java" io.github.onewrite.okhttp "$okhttp"
posts WebClientPost "$here/examples/WebClientPost.java" "$handlers:$(ours reactor-netty):$(of_module reactor-netty)"
