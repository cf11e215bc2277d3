"""One interleaved run on loopback: 200-byte POSTs on a keep-alive connection, by urllib3, onewrite and their peers.

Each client is a process of its own and they take turns, round by round, so that a change of the machine's
load meets all of them. Two routes: straight to the origin, and through HAProxy with http-buffer-request.
A ratio is the median over the rounds of what a client took divided by what urllib3 took in the same round.

Two placements, since where the scheduler puts client and servers changes from round to round and moves a
ratio more than the clients do. "one core": everything on one; as there is one request at a time, nothing
is lost by that, and nothing but work is measured. "a core each": the client on one, the servers on another;
then a request also waits for cores to wake up, and the servers' work goes on beside the client's.

usage: bench.py [--rounds N] [--requests N] [--route direct|haproxy] [--place one|two] [--only NAME]…
                [--write FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing
import urllib.error
import urllib.request

from clients import CLIENTS, Client

HERE = pathlib.Path(__file__).parent
STOCK = "urllib3"
PATH = "/a/b?c=d"

HAPROXY = """
global
    maxconn 200
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend front
    bind 127.0.0.1:{port}
    option http-buffer-request
    default_backend origin
backend origin
    server one 127.0.0.1:{origin}
"""

#: Targets: ratios to urllib3 in one run, by placement and route.
WANTED = {
    ("one", "direct"): [("onewrite", "req/s", 2.5), ("urllib3, install()", "req/s", 2.5)],
    ("one", "haproxy"): [("onewrite", "req/s", 1.7), ("urllib3, install()", "req/s", 1.7)],
    ("two", "direct"): [("urllib3, install()", "p50", 1.0)],
    ("two", "haproxy"): [("urllib3, install()", "p50", 1.0)],
}
#: Target: processor time of requests after install(), as a ratio to stock requests.
REQUESTS = ("requests, install()", "requests", 0.8)
#: Client that a hook is measured against, and the target for its cost as a share of it.
HOOKS = {
    "onewrite": ("onewrite, on_timing", "onewrite, one event", "onewrite, every event", "onewrite, readings alone"),
    "urllib3, install()": ("urllib3, install(on_timing)",),
}
HOOKS_SHARE = 0.10
#: The clients that also run with a core for themselves.
APART = (STOCK, *HOOKS, *(name for names in HOOKS.values() for name in names))
PEERS = ("requests", "httpx", "httpcore", "niquests", "urllib3-future", "aiohttp, no uvloop")


class Worker:
    """A client in a process of its own."""

    def __init__(self, number: int, url: str) -> None:
        self.client: Client = CLIENTS[number]
        self.missing = ""
        self.versions = ""
        python = HERE.parent / self.client.venv / "bin" / "python"
        if not python.exists():
            self.missing = f"no {self.client.venv}: make setup-bench"
            return
        environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        self.process = subprocess.Popen(
            [python, HERE / "worker.py", str(number), url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        said = self.read()
        self.missing = said.get("missing", "")
        self.versions = said.get("versions", "")

    def read(self) -> dict[str, typing.Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.client.name} has ended with {self.process.wait()}")
        return dict(json.loads(line))

    def round(self, count: int) -> tuple[list[int], float]:
        """Latency of each request, and processor time per request, in nanoseconds."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        said = self.read()
        return list(said["ns"]), said["cpu"] / count

    def close(self) -> None:
        if not self.missing:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait(10)


def free_port() -> int:
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def origin() -> typing.Iterator[int]:
    process = subprocess.Popen([sys.executable, HERE / "origin.py"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def haproxy(origin_port: int) -> typing.Iterator[int]:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "haproxy.cfg"
        path.write_text(HAPROXY.format(port=port, origin=origin_port))
        process = subprocess.Popen([str(shutil.which("haproxy")), "-db", "-q", "-f", str(path)])
        try:
            deadline = time.monotonic() + 20
            while True:
                try:
                    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/")
                    break
                except urllib.error.URLError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.05)
            yield port
        finally:
            process.kill()
            process.wait()


class Row(typing.NamedTuple):
    """Results of a client on one route; ratios are to urllib3, with quartiles."""

    p50_us: float
    rate: float
    p50_ratio: float
    rate_ratio: float
    p50_spread: tuple[float, float]
    p50s: list[float]
    cpus: list[float]


def measure(workers: list[Worker], rounds: int, requests: int) -> dict[str, Row]:
    taken: dict[str, list[list[int]]] = {worker.client.name: [] for worker in workers}
    cpus: dict[str, list[float]] = {worker.client.name: [] for worker in workers}
    for worker in workers:
        worker.round(100)
    for number in range(rounds):
        # Round robin, each round from another client on, so that no client always runs after the same one.
        for worker in workers[number % len(workers) :] + workers[: number % len(workers)]:
            times, cpu = worker.round(requests)
            taken[worker.client.name].append(times)
            cpus[worker.client.name].append(cpu)
    p50s = {name: [statistics.median(one) for one in all_rounds] for name, all_rounds in taken.items()}
    rates = {name: [len(one) / sum(one) * 1e9 for one in all_rounds] for name, all_rounds in taken.items()}
    rows = {}
    for name in taken:
        p50_ratios = [mine / stock for mine, stock in zip(p50s[name], p50s[STOCK], strict=True)]
        rate_ratios = [mine / stock for mine, stock in zip(rates[name], rates[STOCK], strict=True)]
        quartiles = statistics.quantiles(p50_ratios, n=4) if rounds > 1 else [p50_ratios[0]] * 3
        rows[name] = Row(
            statistics.median(p50s[name]) / 1000,
            statistics.median(rates[name]),
            statistics.median(p50_ratios),
            statistics.median(rate_ratios),
            (quartiles[0], quartiles[2]),
            p50s[name],
            cpus[name],
        )
    return rows


def table(workers: list[Worker], rows: dict[str, Row]) -> list[str]:
    lines = [
        "| client | parts in | p50 µs | req/s | p50 × urllib3 (quartiles) | req/s × urllib3 |",
        "|---|---|---|---|---|---|",
    ]
    for worker in sorted(workers, key=lambda one: rows[one.client.name].p50_us):
        row = rows[worker.client.name]
        name = f"**{worker.client.name}**" if "onewrite" in worker.client.name else worker.client.name
        low, high = row.p50_spread
        lines.append(
            f"| {name} | {worker.client.parts} | {row.p50_us:.0f} | {row.rate:.0f} "
            f"| {row.p50_ratio:.2f} ({low:.2f}–{high:.2f}) | {row.rate_ratio:.2f} |"
        )
    return lines


def cost(name: str, base: str, rows: dict[str, Row]) -> str:
    """What a hook takes, round by round: more than the same client without it, and of what urllib3 takes."""
    pairs = list(zip(rows[name].p50s, rows[base].p50s, rows[STOCK].p50s, strict=True))
    more = statistics.median(mine - without for mine, without, _ in pairs) / 1000
    shares = [mine / without - 1 for mine, without, _ in pairs]
    low, share, high = statistics.quantiles(shares, n=4) if len(shares) > 1 else shares * 3
    of_stock = statistics.median((mine - without) / stock for mine, without, stock in pairs)
    said = f"{name}: {more:+.1f} µs of p50, {share:+.1%} ({low:+.1%} to {high:+.1%}) of {base}"
    said += f", {of_stock:+.1%} of {STOCK}"
    if "alone" in name:
        return said
    return f"{said}; wanted at most {HOOKS_SHARE:.0%} of {base}: {'kept' if share <= HOOKS_SHARE else 'MISSED'}"


def verdicts(place: str, route: str, rows: dict[str, Row]) -> list[str]:
    lines = []
    for name, what, promised in WANTED[place, route]:
        if name not in rows:
            continue
        found = rows[name].rate_ratio if what == "req/s" else rows[name].p50_ratio
        kept = found >= promised if what == "req/s" else found <= promised
        sign = "at least" if what == "req/s" else "at most"
        lines.append(
            f"- {name}: {what} {found:.2f} × urllib3, wanted {sign} {promised}: {'kept' if kept else 'MISSED'}"
        )
    name, base, most = REQUESTS
    if name in rows and base in rows:
        share = statistics.median(a / b for a, b in zip(rows[name].cpus, rows[base].cpus, strict=True))
        kept = "kept" if share <= most else "MISSED"
        lines.append(f"- {name}: processor time {share:.2f} × {base}, wanted at most {most}: {kept}")
    own = rows["onewrite"]
    for base, names in HOOKS.items():
        lines += [f"- {cost(name, base, rows)}" for name in names if name in rows and base in rows]
    slower = [name for name in PEERS if name in rows and rows[name].p50_ratio < own.p50_ratio]
    asked = [name for name in PEERS if name in rows]
    if asked:
        lines.append(f"- slower than onewrite: {', '.join(name for name in asked if name not in slower) or 'none'}")
    faster = [name for name, row in rows.items() if row.p50_ratio < own.p50_ratio and "onewrite" not in name]
    lines.append(f"- faster than onewrite: {', '.join(faster) or 'none'}")
    return lines


#: Where a bench may run; None where the system does not let us choose.
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []


def pin(cores: list[int]) -> None:
    """Run on *cores* from here on, and what is started from here on too."""
    if cores:
        os.sched_setaffinity(0, cores)


def run(
    place: str, route: str, names: typing.Collection[str], rounds: int, requests: int
) -> tuple[list[Worker], list[Worker], dict[str, Row]]:
    """One table: the clients that ran, those that are missing, and the results."""
    with contextlib.ExitStack() as stack:
        stack.callback(pin, CORES)
        pin(CORES[:1] if place == "two" else CORES[-1:])
        to = port = stack.enter_context(origin())
        if route == "haproxy":
            to = stack.enter_context(haproxy(port))
        pin(CORES[-1:])
        workers = [
            Worker(number, f"http://127.0.0.1:{to}{PATH}")
            for number, client in enumerate(CLIENTS)
            if client.name in names
        ]
        try:
            present = [worker for worker in workers if not worker.missing]
            rows = measure(present, rounds, requests)
        finally:
            for worker in workers:
                worker.close()
    return present, [worker for worker in workers if worker.missing], rows


def idle() -> float:
    """The share of idle time of the cores, from 0 to 1."""
    if not pathlib.Path("/proc/stat").exists():
        return max(1 - os.getloadavg()[0] / (os.cpu_count() or 1), 0)

    def ticks() -> list[int]:
        return [int(one) for one in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]

    before = ticks()
    time.sleep(2)
    gone = [after - one for one, after in zip(before, ticks(), strict=True)]
    return (gone[3] + gone[4]) / max(sum(gone), 1)


def machine(quiet: float) -> str:
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"CPython {platform.python_version()}; cores {quiet:.0%} idle before the start"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--requests", type=int, default=150, help="requests per round")
    parser.add_argument("--route", choices=["direct", "haproxy"], action="append")
    parser.add_argument("--place", choices=["one", "two"], action="append")
    parser.add_argument("--only", action="append", help="a client by name (urllib3 and onewrite always run)")
    parser.add_argument("--write", type=pathlib.Path, help="the Markdown file to write")
    arguments = parser.parse_args()
    routes = arguments.route or ["direct", "haproxy"]
    if shutil.which("haproxy") is None and "haproxy" in routes:
        print("no haproxy here: that route is left out", file=sys.stderr)
        routes.remove("haproxy")
    places = arguments.place or ["one", "two"]
    if len(CORES) < 2 and "two" in places:
        print("one core only: the placement with a core each is left out", file=sys.stderr)
        places.remove("two")
    quiet = idle()
    text = [
        "# urllib3, onewrite and their peers",
        "",
        "Written by `make bench`. 200-byte POSTs with one header of their own, one thread, one keep-alive",
        "connection, loopback; one request at a time. Ratios count; microseconds depend on the machine.",
        "",
        "*On one core*: client, origin and HAProxy share a core, so a p50 is the work that all of them do for a",
        "request and nothing else; clients with threads of their own (pyreqwest, primp, rnet, httpr) have no core",
        "for them here. *On a core each*: the client on one, origin and HAProxy on another; a p50 then has the",
        "wake-ups of idle cores in it, and what a client does while it waits is free.",
        "",
        f"{datetime.date.today().isoformat()}; {machine(quiet)}; "
        f"{arguments.rounds} rounds of {arguments.requests} requests.",
    ]
    if quiet < 0.9:
        text += ["", "**The machine was busy with other things: a rough picture only. Run it again when it is not.**"]
    told = False
    for place in places:
        names = [client.name for client in CLIENTS] if place == "one" else APART
        if arguments.only:
            names = [name for name in names if name in (*arguments.only, STOCK, "onewrite")]
        for route in routes:
            present, absent, rows = run(place, route, names, arguments.rounds, arguments.requests)
            if not told:
                told = True
                versions = dict.fromkeys(one for worker in present for one in worker.versions.split(", ") if one)
                text += ["", f"Versions: {', '.join(versions)}."]
                text += [f"{worker.client.name} is missing: {worker.missing}" for worker in absent]
            title = "Straight to the origin" if route == "direct" else "Through HAProxy with http-buffer-request"
            where = "on one core" if place == "one" else "on a core each"
            text += ["", f"## {title}, {where}", "", *table(present, rows), "", *verdicts(place, route, rows)]
    print("\n".join(text))
    if arguments.write:
        arguments.write.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
