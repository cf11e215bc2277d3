#!/usr/bin/env bash
# Builds the application of this folder with one version of Spring Boot, lets it send POSTs, and reads what Prometheus
# would: the names and labels of docs/dashboard beside Boot's own meter.
# usage: scrape.sh BOOT-VERSION      onewrite's artifacts of this checkout must be in the local repository
set -euo pipefail
cd "$(dirname "$0")"
boot=$1
profile=()
case $boot in 3.*) ;; *) profile=(-Pboot-4) ;; esac
build=$PWD/target/$boot
rm -rf "$build" && mkdir -p "$build"
settings=("${profile[@]}" "-Dboot.version=$boot" "-Donewrite.version=$(cat ../../../VERSION)")
../../../.ci/mvn -f pom.xml "${settings[@]}" dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$build/libs"
javac -parameters -proc:none -d "$build/classes" -cp "$build/libs/*" src/main/java/example/Application.java
java -XX:TieredStopAtLevel=1 -cp "$build/classes:$build/libs/*" example.Application --server.port=0 --server.address=127.0.0.1 \
  --management.endpoints.web.exposure.include=prometheus --spring.main.banner-mode=off >"$build/log" 2>&1 &
application=$!
trap 'kill "$application" 2>/dev/null; wait "$application" 2>/dev/null || true' EXIT
port=
for _ in $(seq 600); do
  port=$(sed -nE 's/.*started on port\(?s?\)?:? ?([0-9]+).*/\1/p' "$build/log" | head -1)
  [ -n "$port" ] && break
  kill -0 "$application" || { cat "$build/log"; exit 1; }
  sleep 0.2
done
[ -n "$port" ] || { cat "$build/log"; echo "the application did not start" >&2; exit 1; }
python3 - "$port" "$boot" <<'PYTHON'
import http.server
import re
import sys
import threading
import urllib.request

port, boot = sys.argv[1:]


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *arguments):
        pass


upstream = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
threading.Thread(target=upstream.serve_forever, daemon=True).start()
to = f"http://127.0.0.1:{upstream.server_port}/orders?secret=1"
for _ in range(5):
    urllib.request.urlopen(f"http://127.0.0.1:{port}/post?to={to}", timeout=60).read()
text = urllib.request.urlopen(f"http://127.0.0.1:{port}/actuator/prometheus", timeout=60).read().decode()


def value(name, **labels):
    for line in text.splitlines():
        found = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line)
        if found and found[1] == name and labels.items() <= dict(re.findall(r'(\w+)="([^"]*)"', found[2])).items():
            return float(found[3])
    sys.exit(f"Boot {boot}: no {name} {labels} in\n{text}")


server = {"server_address": "127.0.0.1"}
assert sum(1 for line in text.splitlines() if line.startswith("onewrite_wait_duration_seconds_count{")) >= 1
# Reactor Netty answers before the connection is back in its pool: the next request may open another one.
reused, new = (value("onewrite_requests_total", onewrite_reused=flag, **server) for flag in ("true", "false"))
assert reused >= 1 and reused + new == 5, text
for edge in ("0.035", "0.05", "+Inf"):
    value("onewrite_wait_duration_seconds_bucket", le=edge, **server)
assert re.search(r'onewrite_wait_duration_seconds_count\{[^}]*onewrite_cause="', text), text
assert value("http_client_requests_seconds_count", method="POST", status="200") == 5, text
assert "secret" not in text.replace("/orders?secret", ""), text
print(f"Boot {boot}: 5 requests, the dashboard's names beside Boot's own http_client_requests")
PYTHON
