"""What onewrite costs beside urllib3: 200-byte POSTs on one keep-alive connection over loopback, in one run.

Each client is a process. The clients take turns, round by round, so that a change of the machine's load meets all of
them. A ratio is the median over the rounds of a client's figure divided by urllib3's in the same round.

Two routes: direct, and through a forward proxy. There urllib3 gets TCP_NODELAY in its socket_options, so that no
stall hides the cost. Two placements: one core for client and server, which shows the work; and a core each.

usage: bench.py [--rounds N] [--requests N] [--write FILE]
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
import socket
import statistics
import subprocess
import sys
import time
import typing

import urllib3

import onewrite

HERE = pathlib.Path(__file__)
BODY = b"x" * 200
HEADERS = {"Content-Type": "application/json"}
NODELAY = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]


class Counting(onewrite.TimingListener):
    """Gets every event."""

    count = 0

    def on_event(self, event: onewrite.Event) -> None:
        self.count += 1


def hook(timing: onewrite.Timing) -> None:
    """Read what most hooks read."""
    _ = timing.status, timing.total_ns, timing.cause


class Client(typing.NamedTuple):
    own: bool = False
    installed: bool = False
    hooks: dict[str, typing.Any] = {}  # noqa: RUF012


CLIENTS = {
    "urllib3": Client(),
    "own classes": Client(own=True),
    "install()": Client(installed=True),
    "own classes, on_timing": Client(own=True, hooks={"on_timing": hook}),
    "install(on_timing)": Client(installed=True, hooks={"on_timing": hook}),
    "own classes, every event": Client(own=True, hooks={"listener": Counting()}),
}
#: At most this many times urllib3's processor time, on one core; at most this many times its p50, with a core each.
CPU_GOALS = {
    "own classes": 1.03,
    "install()": 1.03,
    "own classes, on_timing": 1.10,
    "install(on_timing)": 1.10,
    "own classes, every event": 1.15,
}
P50_GOALS = {"own classes": 1.00, "install()": 1.00}


def manager(client: Client, proxy: str | None) -> urllib3.PoolManager:
    if client.installed:
        onewrite.install(**client.hooks)
    if client.own:
        return onewrite.ProxyManager(proxy, **client.hooks) if proxy else onewrite.PoolManager(**client.hooks)
    if proxy:
        return urllib3.ProxyManager(proxy, **({} if client.installed else {"socket_options": NODELAY}))
    return urllib3.PoolManager()


def work(name: str, route: str, server: str) -> None:
    """Be a client: for each number on stdin send as many requests, and print their p50 and processor time in ns."""
    http = manager(CLIENTS[name], server if route == "proxy" else None)
    url = "http://example.test/a?b=c" if route == "proxy" else f"{server}a?b=c"
    clock = time.perf_counter_ns
    for line in sys.stdin:
        taken = []
        gc.collect()
        worked = time.process_time_ns()
        for _ in range(int(line)):
            began = clock()
            answer = http.request("POST", url, body=BODY, headers=HEADERS)
            taken.append(clock() - began)
            assert answer.status == 200
        worked = time.process_time_ns() - worked
        print(json.dumps([statistics.median(taken), worked / int(line)]), flush=True)


class Figures(typing.NamedTuple):
    p50: float
    cpu: float


#: The cores that the bench may use.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []


def pin(core: int) -> None:
    """Run on this core from here on, and what is started from here on too."""
    if CORES:
        os.sched_setaffinity(0, [CORES[core]])


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


def ask(process: subprocess.Popen[str], requests: int) -> Figures:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{requests}\n")
    process.stdin.flush()
    return Figures(*json.loads(process.stdout.readline()))


def measure(route: str, apart: bool, names: list[str], rounds: int, requests: int) -> dict[str, list[Figures]]:
    with contextlib.ExitStack() as stack:
        pin(0 if apart else -1)
        origin = stack.enter_context(started(HERE.parent / "origin.py"))
        assert origin.stdout is not None
        url = f"http://127.0.0.1:{int(origin.stdout.readline())}/"
        pin(-1)
        clients = {name: stack.enter_context(started(HERE, "--work", name, route, url)) for name in names}
        found: dict[str, list[Figures]] = {name: [] for name in names}
        for process in clients.values():
            ask(process, 100)
        for number in range(rounds):
            # Each round from another client on, so that no client always runs after the same one.
            for name in names[number % len(names) :] + names[: number % len(names)]:
                found[name].append(ask(clients[name], requests))
    return found


def table(found: dict[str, list[Figures]], figure: str, goals: dict[str, float]) -> list[str]:
    lines = [f"| client | {figure} µs | × urllib3 (quartiles) | goal |", "|---|---|---|---|"]
    stock = [getattr(one, figure) for one in found["urllib3"]]
    for name, all_rounds in found.items():
        mine = [getattr(one, figure) for one in all_rounds]
        low, ratio, high = statistics.quantiles([a / b for a, b in zip(mine, stock, strict=True)], n=4)
        goal = f"at most {goals[name]:.2f}: {'kept' if ratio <= goals[name] else 'missed'}" if name in goals else ""
        median = statistics.median(mine) / 1000
        lines.append(f"| {name} | {median:.0f} | {ratio:.2f} ({low:.2f}–{high:.2f}) | {goal} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--requests", type=int, default=100, help="requests per round")
    parser.add_argument("--write", type=pathlib.Path, help="the Markdown file to write")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(*arguments.work)
        return
    load = os.getloadavg()[0]
    text = [
        "# onewrite beside urllib3",
        "",
        "Written by `make -C python bench`. 200-byte POSTs with one header field, one at a time, on one keep-alive",
        "connection over loopback. Ratios are medians over the rounds of one interleaved run; microseconds depend on",
        "the machine. Through the proxy, urllib3 has TCP_NODELAY in its `socket_options`: its figures have no stall.",
        "",
        f"{datetime.date.today().isoformat()}; urllib3 {urllib3.__version__}; CPython {platform.python_version()}; "
        f"{platform.system()} {platform.release()}; {len(CORES) or os.cpu_count()} cores, "
        f"load {load:.1f} at the start; "
        f"{arguments.rounds} rounds of {arguments.requests} requests.",
    ]
    if load > 0.5:
        text += ["", "**Other programs ran on the machine: the microseconds are too high, the ratios are rough.**"]
    for route, where in (("direct", "Direct"), ("proxy", "Through a forward proxy")):
        found = measure(route, False, list(CLIENTS), arguments.rounds, arguments.requests)
        text += ["", f"## {where}: processor time per request, client and server on one core", ""]
        text += table(found, "cpu", CPU_GOALS)
        if len(CORES) > 1:
            found = measure(route, True, ["urllib3", *P50_GOALS], arguments.rounds, arguments.requests)
            text += ["", f"## {where}: p50, a core each for client and server", "", *table(found, "p50", P50_GOALS)]
    print("\n".join(text))
    if arguments.write:
        arguments.write.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
