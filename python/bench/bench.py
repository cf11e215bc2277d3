"""CPU of the client process per request, beside urllib3: POSTs of 200 bytes (also over TLS) and of 20 kB, and GETs.

On one connection over loopback.

Each variant is a process, warmed until two halves of a round agree within 2 %. The variants take turns, round by round.
A ratio is the median over the rounds of a variant's figure divided by that of stock in the same round. Stock runs
twice; where the two differ by more than 3 %, nothing is written. requests is compared with requests. OpenTelemetry's
instrumentation makes its spans with the SDK and no exporter: what a program may run in place of a hook.

usage: bench.py [--rounds N] [--requests N] [--write]
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import gc
import json
import os
import pathlib
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import typing

import urllib3

HERE = pathlib.Path(__file__)
NODELAY = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
VARIANTS = ("stock", "stock again", "onewrite", "on_timing")
SPANS = "OpenTelemetry"
#: Route, size of the body and variants; each is a section of the table.
SECTIONS = (
    ("direct", 200, (*VARIANTS, SPANS)),
    ("proxy", 200, VARIANTS),
    ("direct", 20_000, VARIANTS),
    ("TLS", 200, VARIANTS),
    ("GET", 0, VARIANTS),
    ("requests", 200, (*VARIANTS, SPANS)),
)
#: At most this many times stock, for 200 bytes.
GOALS = {"onewrite": 1.00, "on_timing": 1.06}
COMMAND = "make -C python bench"
#: Largest difference of stock from itself at which figures are written.
NOISE = 0.03
#: The spread of a row: the lowest and the highest median of so many parts of its rounds.
PARTS = 5


def hook(record: typing.Any) -> None:
    """Read what most hooks read."""
    _ = record.status, record.total_ns


def prepare(variant: str, route: str) -> None:
    if variant.startswith("stock"):
        return
    if variant == SPANS:
        from opentelemetry.instrumentation.requests import RequestsInstrumentor
        from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
        from opentelemetry.sdk.trace import TracerProvider

        instrumentor = RequestsInstrumentor if route == "requests" else URLLib3Instrumentor
        instrumentor().instrument(tracer_provider=TracerProvider())
        return
    import onewrite

    onewrite.install(on_timing=hook if variant == "on_timing" else None)


def work(variant: str, route: str, size: str, server: str, authority: str) -> None:
    """Be a client: for each number on stdin send as many requests; print the CPU per request in ns."""
    prepare(variant, route)
    if route == "proxy":
        # With TCP_NODELAY, so that no stall of stock hides the cost.
        http: typing.Any = urllib3.ProxyManager(server, socket_options=NODELAY)
        url = "http://example.test/a?b=c"
    else:
        http, url = urllib3.PoolManager(ca_certs=authority or None), f"{server}a?b=c"
    send, content, status = http.request, "body", "status"
    if route == "requests":
        import requests

        session = requests.Session()
        session.trust_env = False
        send, content, status = session.request, "data", "status_code"
    method, body = ("GET", None) if route == "GET" else ("POST", b"x" * int(size))
    headers = {"Content-Type": "application/json"}

    def measured(requests: int) -> float:
        gc.collect()
        began = time.process_time_ns()
        for _ in range(requests):
            assert getattr(send(method, url, headers=headers, **{content: body}), status) == 200
        return (time.process_time_ns() - began) / requests

    for _ in range(20):  # until warm
        first, second = measured(200), measured(200)
        if abs(first / second - 1) < 0.02:
            break
    print("ready", flush=True)
    for line in sys.stdin:
        print(measured(int(line)), flush=True)


@contextlib.contextmanager
def started(*arguments: object) -> typing.Iterator[subprocess.Popen[str]]:
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str], question: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(question)
    process.stdin.flush()
    return process.stdout.readline().strip()


def measure(route: str, size: int, variants: tuple[str, ...], rounds: int, requests: int) -> dict[str, list[float]]:
    with contextlib.ExitStack() as stack:
        scheme, authority = "http", ""
        if route == "TLS":
            scheme, authority = "https", f"{stack.enter_context(tempfile.TemporaryDirectory())}/ca.pem"
        origin = stack.enter_context(started(HERE.parent / "origin.py", *(("--tls", authority) if authority else ())))
        url = f"{scheme}://127.0.0.1:{line_of(origin)}/"
        clients = {
            name: stack.enter_context(started(HERE, "--work", name, route, size, url, authority)) for name in variants
        }
        for process in clients.values():
            assert line_of(process) == "ready"
        found: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(rounds):
            # Shuffled: in a fixed order each variant would find the caches as the same other one left them.
            for name in random.sample(variants, len(variants)):
                found[name].append(float(line_of(clients[name], f"{requests}\n")))
        return found


def suffix_of(route: str, size: int) -> str:
    how = {"direct": "", "proxy": ", through a proxy", "TLS": ", TLS", "GET": ", GET", "requests": ", requests"}[route]
    return how + (f", {size // 1000} kB" if size > 200 else "")


def rows(route: str, size: int, found: dict[str, list[float]]) -> list[dict[str, typing.Any]]:
    suffix = suffix_of(route, size)
    made = []
    for name, mine in found.items():
        ratios = [a / b for a, b in zip(mine, found["stock"], strict=True)]
        size = max(1, len(ratios) // PARTS)
        parts = [statistics.median(ratios[at : at + size]) for at in range(0, len(ratios), size)]
        spread = {"min": round(min(parts), 3), "max": round(max(parts), 3)}
        figures = {"ratio": round(statistics.median(ratios), 3), **spread}
        made.append({"name": name + suffix, **figures, "n": len(mine), "us": round(statistics.median(mine) / 1000, 1)})
    return made


def table(all_rows: list[dict[str, typing.Any]]) -> str:
    lines = ["| row | CPU, µs | factor | noise | n | goal |", "|---|---:|---:|---:|---:|---|"]
    named = [row["name"].partition(", ") for row in all_rows]
    noise = {of: row["ratio"] - 1 for (name, _, of), row in zip(named, all_rows, strict=True) if name == "stock again"}
    for (_, _, of), row in zip(named, all_rows, strict=True):
        goal = "" if " kB" in row["name"] else GOALS.get(row["name"].partition(",")[0], "")
        figures = f"{row['us']} | {row['ratio']:.2f} | ±{abs(noise[of]):.2f} | {row['n']}"
        lines.append(f"| {row['name']} | {figures} | {goal} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--requests", type=int, default=200, help="requests per round")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md and results.json beside this file")
    parser.add_argument("--work", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(*arguments.work)
        return 0
    all_rows, raw = [], {}
    for route, size, variants in SECTIONS:
        found = measure(route, size, variants, arguments.rounds, arguments.requests)
        raw.update({name + suffix_of(route, size): [round(one) for one in mine] for name, mine in found.items()})
        all_rows += rows(route, size, found)
    text = table(all_rows)
    print(text)
    noise = max(abs(row["ratio"] - 1) for row in all_rows if row["name"].startswith("stock again"))
    if noise > NOISE:
        print(f"not written: stock differs from itself by {noise:.1%}, more than {NOISE:.0%}", file=sys.stderr)
        return 2
    if arguments.write:
        date = datetime.date.today().isoformat()
        runtime = f"CPython {platform.python_version()}"
        base = f"urllib3 {urllib3.__version__}"
        commit = subprocess.run(
            ["git", "rev-parse", "--short=8", "HEAD"], cwd=HERE.parent, capture_output=True, text=True, check=False
        ).stdout.strip()
        (HERE.parent / "RESULTS.md").write_text(
            f"# The cost of onewrite beside {base}\n\nThe table shows the CPU of the client process for a request over "
            f"loopback, with `install()`: a POST of 200 bytes, unless the row names another. *factor* is relative to "
            f"stock (1.00 = no cost), the median of *n* interleaved rounds of {arguments.requests} requests. *noise* "
            f"measures stock twice: the distance of the second from 1.00. [raw.json](raw.json) has each round.\n\n"
            f"{text}\n\n`{COMMAND}`, commit {commit}, {date}, {runtime}, {platform.system()} {platform.release()}.\n"
        )
        result = {"language": "python", "base": base, "runtime": runtime, "date": date, "command": COMMAND}
        result["commit"] = commit
        result["rows"] = [{name: row[name] for name in ("name", "n", "ratio", "min", "max")} for row in all_rows]
        (HERE.parent / "results.json").write_text(json.dumps(result, indent=1) + "\n")
        (HERE.parent / "raw.json").write_text(json.dumps(raw, separators=(",", ":")) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
