"""Which proxy configurations stall a split POST: measures all of them and writes docs/proxies.md.

usage: matrix.py [--requests N] [--no-page]      exit: 0 measured, 2 inconclusive (a control did not behave), 3 a program is missing
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from onewrite_lab.stall import control_stalls, says_nothing

from frontends import HAPROXY, NGINX, Frontend
from measure import Sample, measure
from page import fill, machine, table
from page import run as run_main
from post import MODES, Mode
from servers import ROOT, Missing, Servers, haproxy_version, nginx_version
from streams import Lag, events, upload

PAGE = ROOT / "docs" / "proxies.md"
RESULT = ROOT / "build" / "surveys" / "matrix.json"
GAPPED = tuple(Mode(mode.name, mode.nodelay, mode.split, gap_s=0.001) for mode in MODES)


def cell(sample: Sample) -> str:
    text = f"{sample.p50_ms:.1f} ms, {sample.stalled} of {len(sample.times_ms)}"
    return f"**{text}**" if sample.stalled * 2 >= len(sample.times_ms) else text


def row(label: str, samples: dict[str, Sample]) -> list[str]:
    segments = " / ".join("?" if one.segments is None else str(one.segments) for one in samples.values())
    return [label, *(cell(one) for one in samples.values()), segments]


def stream_row(label: str, received: Lag, sent: Lag) -> list[str]:
    return [label] + [f"{value:.1f} ms" for lag in (received, sent) for value in (lag.first_ms, lag.p50_ms, lag.max_ms)]


class Matrix:
    def __init__(self, requests: int) -> None:
        self.requests = requests
        self.record: dict[str, Any] = {}

    def posts(self, servers: Servers, kind: str, ports: dict[str, int], frontends: tuple[Frontend, ...]) -> list[list[str]]:
        rows = []
        for one in frontends:
            authority = servers.certificate.authority if one.tls else None
            rows.append(row(one.label, self.one(f"{kind} {one.label}", ports[one.key], authority=authority)))
        return rows

    def one(self, name: str, port: int, **options: Any) -> dict[str, Sample]:
        samples = measure(port, requests=self.requests, **options)
        print(f"  {name}: " + ", ".join(f"{mode} {cell(one)}" for mode, one in samples.items()), file=sys.stderr)
        self.record[name] = {
            mode: {"p50_ms": round(one.p50_ms, 3), "stalled": one.stalled, "n": len(one.times_ms), "segments": one.segments}
            for mode, one in samples.items()
        }
        return samples

    def streams(self, name: str, port: int) -> list[str]:
        received, sent = events(port), upload(port)
        print(f"  stream, {name}: event p50 {received.p50_ms:.1f} ms, upload p50 {sent.p50_ms:.1f} ms", file=sys.stderr)
        self.record[f"stream {name}"] = {"events_ms": received.lags_ms, "upload_ms": sent.lags_ms}
        return stream_row(name, received, sent)


def main() -> int:
    parser = argparse.ArgumentParser(description="Which proxy configurations stall a split POST.")
    parser.add_argument("--requests", type=int, default=40, help="per mode and row, after warm-up")
    parser.add_argument("--no-page", action="store_true", help="leave docs/proxies.md as it is")
    options = parser.parse_args()
    head = ["", "Nagle, two writes", "TCP_NODELAY, two writes", "Nagle, one write", "segments per POST"]
    matrix = Matrix(options.requests)
    try:
        with Servers() as servers:
            origin = servers.origin()
            haproxy, nginx = servers.haproxy(origin), servers.nginx(origin)
            haproxy_rows = matrix.posts(servers, "HAProxy", haproxy, HAPROXY)
            other_rows = [[f"nginx, {cells[0]}", *cells[1:]] for cells in matrix.posts(servers, "nginx", nginx, NGINX)]
            other_rows.append(row("no proxy: an origin that keeps connections open", matrix.one("direct", origin)))
            relay = matrix.one("relay", servers.relay(origin), modes=GAPPED)
            other_rows.append(row("TCP relay with Nagle on, client's writes 1 ms apart", relay))
            stream_rows = [
                matrix.streams("no proxy", origin),
                matrix.streams("HAProxy, `mode http`, nothing else", haproxy["default"]),
                matrix.streams("HAProxy, `option http-no-delay`", haproxy["nodelay"]),
                matrix.streams("HAProxy, `mode tcp`", haproxy["tcp"]),
                matrix.streams("nginx, `proxy_pass`, nothing else", nginx["nginx"]),
                matrix.streams("nginx, `proxy_request_buffering off`", nginx["nginxstream"]),
            ]
            versions = f"HAProxy {haproxy_version()}, nginx {nginx_version()}; {machine()}"
    except Missing as missing:
        print(f"proxies: {missing}", file=sys.stderr)
        return 3
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps({"versions": versions, "rows": matrix.record}, indent=1) + "\n")
    bad, good = (matrix.record["direct"][mode] for mode in ("nagle+split", "one write"))
    if not control_stalls(bad["stalled"] / bad["n"]) or says_nothing(good["stalled"] / good["n"]):
        print("proxies: inconclusive: the control did not stall, or the machine is too busy; nothing was written", file=sys.stderr)
        return 2
    if not options.no_page:
        fill(PAGE, {
            "versions": f"Measured {time.strftime('%Y-%m-%d')} with {versions}. Per cell {options.requests} POSTs of 200 bytes "
            "on one kept-alive connection after 16 of warm-up, all three clients in turn.",
            "haproxy": table(head, haproxy_rows),
            "others": table(head, other_rows),
            "streams": table(
                ["", "first event", "event lag p50", "max", "first upload piece", "piece lag p50", "max"], stream_rows),
        })
        print(f"proxies: wrote {os.path.relpath(PAGE, Path.cwd())}")
    return 0


if __name__ == "__main__":
    run_main(main)
