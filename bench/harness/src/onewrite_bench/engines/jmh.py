"""JMH: a call of the Java adapter beside bare Netty and a bare socket. The origin is another process.

JMH is a closed loop: it says what a call costs, nothing about stalls. Each client takes turns with raw Netty in one
process, and neighbouring turns are compared. Numbers from a shortcut (no fork, one fork, few rounds) are shown with a
warning and never put into the report.
"""

from __future__ import annotations

import datetime
import json
import math
import shutil
import statistics
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from onewrite_lab.servers.children import Children, guarded

from onewrite_bench.console import Console
from onewrite_bench.ends import scratch, tied
from onewrite_bench.failures import BenchError
from onewrite_bench.paths import BENCH
from onewrite_bench.verdict import machine
from onewrite_bench.verdict.results import Run

__all__ = ["hook_table", "measure", "median_interval", "shortcut", "tables"]

JAR = BENCH / "jmh" / "target" / "benchmarks.jar"
ORIGIN = "io.github.onewrite.bench.jmh.Origin"
HOOK_COST = "io.github.onewrite.bench.jmh.HookCost"
NAME, TITLE = "jmh", "What a call costs in Java"
LIMITS = ("raw-socket", "raw-netty")
"""Raw Netty is beside every client anyway; as a client of its own it is the control."""

PUBLISHED = (
    ("onewrite", "-f", "3", "-wi", "20", "-i", "36"),
    (",".join(LIMITS), "-f", "2", "-wi", "16", "-i", "10"),
)
"""What the published report takes: client, and how often. A compiler needs the seconds of warm-up."""

HOOK_SECONDS = 8

LEAST_FORKS, LEAST_ROUNDS = 2, 10


def measure(
    arguments: Sequence[str], console: Console, command: str | None = None, shown: bool = True
) -> tuple[Run, list[dict[str, Any]]]:
    """Run all benchmarks with these arguments for JMH; returns the tables and JMH's own JSON.

    `shown`: whether JMH's own progress is.

    Raises BenchError when there is no Java, no jar, or JMH gave up.
    """
    java = shutil.which("java")
    if java is None or not JAR.exists():
        raise BenchError("the benchmarks are not built: make -C bench jmh-ready")
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    command = command or "make -C bench jmh" + (f' JMH_ARGS="{" ".join(arguments)}"' if arguments else "")
    run = Run(NAME, TITLE, command, now, machine=machine.describe())
    began = time.monotonic()
    raw: list[dict[str, Any]] = []
    with scratch("onewrite-jmh-") as folder, Children(folder) as children:
        origin = children.start("origin", [java, "-Xmx128m", "-XX:+UseSerialGC", "-cp", str(JAR), ORIGIN])
        ports = origin.ready["ports"]
        assert isinstance(ports, dict)
        url = f"http://127.0.0.1:{ports['plain']}/"
        own = [list(arguments)] if arguments else [["-p", f"client={names}", *rest] for names, *rest in PUBLISHED]
        for number, each in enumerate(own):
            result = folder / f"{number}.json"
            line = [java, "-jar", str(JAR), "PostBenchmark", "-p", f"url={url}", "-rf", "json", "-rff", str(result)]
            console.say(f"jmh: {' '.join(each[:2])}")
            status = _run_to_its_end([*line, *each], shown)
            if status != 0 or not result.exists():
                raise BenchError(f"JMH ended with status {status} and left no result")
            raw += json.loads(result.read_text())
        console.say("jmh: hooks")
        hooks = _hooks([java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", str(JAR), HOOK_COST, url, str(HOOK_SECONDS)])
    run.seconds = round(time.monotonic() - began, 1)
    run.sections = [*tables(raw), hook_table(hooks)]
    if not arguments:
        run.notes += _missing(raw)
    run.notes.append("JMH 1.37. The origin is another process: its time and its bytes count for nobody.")
    run.exit_status = 0
    return run, raw


def _hooks(command: list[str]) -> list[dict[str, Any]]:
    """One line of JSON for each kind of hook."""
    done = subprocess.run([*tied(), *command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise BenchError(f"the cost of hooks could not be measured: {done.stderr.strip()[-500:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _missing(raw: list[dict[str, Any]]) -> list[str]:
    """A client that failed has no entry in JMH's result: a note names it."""
    seen = {entry["params"]["client"] for entry in raw}
    lost = [name for name in ("onewrite", *LIMITS) if name not in seen]
    return [f"No result, JMH's own output says why: {', '.join(lost)}."] if lost else []


def _run_to_its_end(command: list[str], shown: bool) -> int:
    """JMH starts JVMs of its own, which end with an interrupted or killed run."""
    with subprocess.Popen(
        guarded(*command),
        stdin=subprocess.PIPE,
        stdout=None if shown else subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            return process.wait()
        finally:
            assert process.stdin is not None
            process.stdin.close()


def shortcut(raw: list[dict[str, Any]]) -> str | None:
    """Why these numbers must not be published, or None."""
    for entry in raw:
        if entry["forks"] < LEAST_FORKS:
            return (
                f"{entry['forks']} forks: figures differ from JVM to JVM, so one is not enough (at least {LEAST_FORKS})"
            )
        if min(entry["measurementIterations"], entry["warmupIterations"]) < LEAST_ROUNDS:
            return f"fewer than {LEAST_ROUNDS} rounds of warm-up or measurement"
    return None if raw else "nothing was measured"


def tables(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sections of a run: by one caller, by many."""
    headings = ["client", "p50 us", "p90 us", "requests/s", "of raw Netty's", "95 % interval", "B per call"]
    note = (
        "POSTs of 200 bytes on kept connections. Each client takes turns of 60 ms with raw Netty in one process. The "
        "ratio is the median of neighboring turns, so it can differ from that of the two columns. The client "
        "raw-socket is a blocking socket that parses nothing: the limit. Raw Netty has no pool, no time limits, no "
        "checks, no hooks. The row raw-netty, again is a second one: its interval is the error of the method. The "
        "clients onewrite and raw Netty share one event loop."
    )
    sections = []
    for prefix, title in (("one", "POST, one caller"), ("many", "POST, 50 callers")):
        rows: list[list[str]] = []
        for entry in raw:
            found = _Found(entry, prefix)
            client = entry["params"]["client"]
            if not rows:
                rows.append(["raw-netty", *found.absolute("Raw"), "1.00", "-", found.bytes("Raw")])
            middle, low, high = median_interval(found.ratios())
            name = "raw-netty, again" if client == "raw-netty" else client
            rows.append([name, *found.absolute(), f"{middle:.2f}", f"{low:.2f} to {high:.2f}", found.bytes()])
        if rows:
            sections.append({"title": title, "headings": headings, "rows": rows, "notes": [note]})
    return sections


class _Found:
    """The counters of one client for one number of callers, round by round."""

    def __init__(self, entry: dict[str, Any], prefix: str) -> None:
        self._metrics = entry["secondaryMetrics"]
        self._prefix = prefix

    def rounds(self, name: str) -> list[float]:
        return [value for fork in self._metrics[self._prefix + name]["rawData"] for value in fork]

    def ratios(self) -> list[float]:
        return [mine / raw for mine, raw in zip(self.rounds("Rate"), self.rounds("RawRate"), strict=True)]

    def absolute(self, whose: str = "") -> list[str]:
        p50, p90, rate = (statistics.median(self.rounds(whose + name)) for name in ("P50", "P90", "Rate"))
        return [f"{p50:.1f}", f"{p90:.1f}", f"{rate:.0f}"]

    def bytes(self, whose: str = "") -> str:
        return f"{statistics.median(self.rounds(whose + 'Bytes')):.0f}"


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median and its 95 % interval by order statistics: nothing is assumed of how the values are spread."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    half = math.ceil(0.98 * math.sqrt(len(ordered)))
    return ordered[middle], ordered[max(0, middle - half)], ordered[min(len(ordered) - 1, middle + half)]


def hook_table(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """What a hook costs: processor time of the two threads that carry a call, and bytes."""
    rows = [
        [
            line["over"],
            line["hooks"],
            f"{line['micros']:.2f}",
            f"{line['more_micros']:+.2f}",
            f"{line['low']:+.2f} to {line['high']:+.2f}",
            f"{line['bytes']:.0f}",
            f"{line['more_bytes']:+.0f}",
        ]
        for line in lines
        if line["hooks"] != "none"
    ]
    headings = ["over", "hooks", "CPU us per call", "more than without", "95 % interval", "B per call", "more B"]
    note = (
        "The cost of a timing record, and of a listener for every event: processor time and bytes of the caller's "
        "thread and the event loop's. Clients without and with hooks take turns on one event loop. The difference is "
        "the median of neighboring turns. The row none, again is a second client without hooks: its difference is the "
        "error of the method. No kernel: a channel drops what is written and has the answer at once, so that only the "
        "client's work is left. Trust this figure. Over epoll each call also reads kernel evidence: one more system "
        "call."
    )
    return {"title": "What hooks cost", "headings": headings, "rows": rows, "notes": [note]}
