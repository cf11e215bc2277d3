"""CPU of the client process per request, beside urllib3: 200-byte and 20 kB POSTs on one connection over loopback.

Each variant is a process, warmed until two halves of a round agree within 2 %. The variants take turns, round by round.
A ratio is the median over the rounds of a variant's figure divided by that of stock in the same round. Stock runs
twice; where the two differ by more than 3 %, nothing is written.

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
import time
import typing

import urllib3

HERE = pathlib.Path(__file__)
NODELAY = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
VARIANTS = ("stock", "stock again", "onewrite", "on_timing", "every event")
#: Route and size of the body; each is a section of the table.
SECTIONS = (("direct", 200), ("proxy", 200), ("direct", 20_000))
#: At most this many times stock, for 200 bytes.
GOALS = {"onewrite": 1.02, "on_timing": 1.08, "every event": 1.12}
COMMAND = "make -C python bench"
#: Largest difference of stock from itself at which figures are written.
NOISE = 0.03


def hook(timing: typing.Any) -> None:
    """Read what most hooks read."""
    _ = timing.status, timing.total_ns


def prepare(variant: str) -> None:
    if variant.startswith("stock"):
        return
    import onewrite

    class Counting(onewrite.TimingListener):
        count = 0

        def on_event(self, event: onewrite.Event) -> None:
            self.count += 1

    onewrite.install(
        on_timing=hook if variant == "on_timing" else None, listener=Counting() if variant == "every event" else None
    )


def work(variant: str, route: str, size: str, server: str) -> None:
    """Be a client: for each number on stdin send as many requests; print the CPU per request in ns."""
    prepare(variant)
    if route == "proxy":
        # With TCP_NODELAY, so that no stall of stock hides the cost.
        http: typing.Any = urllib3.ProxyManager(server, socket_options=NODELAY)
        url = "http://example.test/a?b=c"
    else:
        http, url = urllib3.PoolManager(), f"{server}a?b=c"
    body, headers = b"x" * int(size), {"Content-Type": "application/json"}

    def measured(requests: int) -> float:
        gc.collect()
        began = time.process_time_ns()
        for _ in range(requests):
            assert http.request("POST", url, body=body, headers=headers).status == 200
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


def measure(route: str, size: int, rounds: int, requests: int) -> dict[str, list[float]]:
    with contextlib.ExitStack() as stack:
        url = f"http://127.0.0.1:{line_of(stack.enter_context(started(HERE.parent / 'origin.py')))}/"
        clients = {name: stack.enter_context(started(HERE, "--work", name, route, size, url)) for name in VARIANTS}
        for process in clients.values():
            assert line_of(process) == "ready"
        found: dict[str, list[float]] = {name: [] for name in VARIANTS}
        for _ in range(rounds):
            # Shuffled: in a fixed order each variant would find the caches as the same other one left them.
            for name in random.sample(VARIANTS, len(VARIANTS)):
                found[name].append(float(line_of(clients[name], f"{requests}\n")))
        return found


def rows(route: str, size: int, found: dict[str, list[float]]) -> list[dict[str, typing.Any]]:
    suffix = ("" if route == "direct" else ", through a proxy") + ("" if size == 200 else f", {size // 1000} kB")
    made = []
    for name, mine in found.items():
        low, ratio, high = statistics.quantiles([a / b for a, b in zip(mine, found["stock"], strict=True)], n=4)
        figures = {"ratio": round(ratio, 3), "low": round(low, 3), "high": round(high, 3)}
        made.append({"name": name + suffix, **figures, "us": round(statistics.median(mine) / 1000, 1)})
    return made


def table(all_rows: list[dict[str, typing.Any]]) -> str:
    lines = ["| row | CPU µs | × stock | quartiles | goal |", "|---|---:|---:|---|---|"]
    for row in all_rows:
        goal = "" if " kB" in row["name"] else GOALS.get(row["name"].partition(",")[0], "")
        lines.append(
            f"| {row['name']} | {row['us']} | {row['ratio']:.2f} | {row['low']:.2f}–{row['high']:.2f} | {goal} |"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--requests", type=int, default=200, help="requests per round")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md and results.json beside this file")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(*arguments.work)
        return 0
    all_rows = []
    for route, size in SECTIONS:
        all_rows += rows(route, size, measure(route, size, arguments.rounds, arguments.requests))
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
        (HERE.parent / "RESULTS.md").write_text(
            f"# The cost of onewrite beside {base}\n\nWritten by `{COMMAND}`, {date}, {runtime}, {platform.system()} "
            f"{platform.release()}. CPU of the client process per POST of 200 bytes (or 20 kB) over loopback, "
            f"`install()`; medians of {arguments.rounds} interleaved rounds.\n\n{text}\n"
        )
        result = {"language": "python", "base": base, "runtime": runtime, "date": date, "command": COMMAND}
        result["rows"] = [{name: row[name] for name in ("name", "ratio", "low", "high")} for row in all_rows]
        (HERE.parent / "results.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
