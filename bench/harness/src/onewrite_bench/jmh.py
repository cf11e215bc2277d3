"""`jmh`: the Java adapter's call beside its peers. Runs JMH against an origin of its own and makes tables of its JSON.

JMH is a closed loop: it says what a call costs, nothing about stalls. Numbers from a shortcut (no fork, one fork,
a single iteration) are shown with a warning and never put into the report.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import machine, report
from .children import Children
from .console import Console
from .failures import BenchError
from .paths import BENCH, BUILD
from .results import Run

__all__ = ["add_arguments", "measure", "shortcut", "tables"]

JAR = BENCH / "jmh" / "target" / "benchmarks.jar"
ORIGIN = "io.github.onewrite.bench.jmh.Origin"
CALLERS = 50
NAME, TITLE = "jmh", "What a call costs in Java"
MANY = (
    "raw-socket,raw-netty,onewrite,reactor-netty,async-http-client,java.net.http,okhttp,apache-5,apache-5-async,"
    "jetty,vertx"
)
"""With many callers the hooks' price is lost in the noise: it is in the other two tables."""

PUBLISHED = ["-f", "2", "-wi", "3", "-i", "3", "-w", "300ms", "-r", "300ms"]
"""What the published report takes: as short as a table of thirteen clients, twice, can be without a shortcut."""

LEAST_FORKS, LEAST_ITERATIONS = 2, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the Markdown report here as well")
    parser.add_argument("arguments", nargs="*", help="for JMH, after --; a shortcut is not published")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    arguments = [argument for argument in options.arguments if argument != "--"]
    run, raw = measure(arguments, Console())
    print(report.text(run))
    reason = shortcut(raw)
    if reason is not None:
        print(f"jmh: not put into the report: {reason}", file=sys.stderr)
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "jmh-raw").mkdir(exist_ok=True)
    (options.out / "jmh-raw" / "jmh.json").write_text(json.dumps(raw, indent=1) + "\n")
    report.save(run, options.out)
    report.write(options.out, options.results)
    return 0


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
    with tempfile.TemporaryDirectory(prefix="onewrite-jmh-") as name, Children(Path(name)) as children:
        origin = children.start("origin", [java, "-Xmx128m", "-XX:+UseSerialGC", "-cp", str(JAR), ORIGIN])
        ports = origin.ready["ports"]
        assert isinstance(ports, dict)
        url = f"url=http://127.0.0.1:{ports['plain']}/"
        many = [] if any(argument.startswith("client=") for argument in arguments) else ["-p", f"client={MANY}"]
        for number, own in enumerate(
            (
                ["PostBenchmark", "-t", "1", "-p", url],
                ["PostBenchmark", "-t", str(CALLERS), "-p", url, *many],
                ["CallBenchmark"],
            )
        ):
            result = Path(name) / f"{number}.json"
            line = [java, "-jar", str(JAR), *own, "-prof", "gc", "-rf", "json", "-rff", str(result)]
            console.say(f"jmh: {' '.join(own[:3])}")
            status = _run_to_its_end([*line, *arguments], shown)
            if status != 0 or not result.exists():
                raise BenchError(f"JMH ended with status {status} and left no result")
            raw += json.loads(result.read_text())
    run.seconds = round(time.monotonic() - began, 1)
    run.sections = tables(raw)
    if many:
        run.notes += _missing(raw)
    run.notes.append("JMH 1.37; bytes are those that the client's process allocates, the origin is another process.")
    run.exit_status = 0
    return run, raw


def _missing(raw: list[dict[str, Any]]) -> list[str]:
    """A client that failed has no entry in JMH's result: the others' stand, and that it failed is said."""
    notes = []
    for callers in (1, CALLERS):
        seen = {entry["params"]["client"] for entry in raw if entry["threads"] == callers and "url" in entry["params"]}
        lost = [name for name in MANY.split(",") if name not in seen]
        if lost:
            notes.append(f"No result with {callers} callers, JMH's own output says why: {', '.join(lost)}.")
    return notes


def _run_to_its_end(command: list[str], shown: bool) -> int:
    """JMH starts Java machines of its own: an interrupted run takes all of them along."""
    process = subprocess.Popen(
        command, stdout=None if shown else subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        return process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def shortcut(raw: list[dict[str, Any]]) -> str | None:
    """Why these numbers must not be published, or None."""
    for entry in raw:
        if entry["forks"] < LEAST_FORKS:
            return (
                f"{entry['forks']} forks: a number of one JVM is a number of that JVM's luck (at least {LEAST_FORKS})"
            )
        if entry["measurementIterations"] < LEAST_ITERATIONS or entry["warmupIterations"] < LEAST_ITERATIONS:
            return f"fewer than {LEAST_ITERATIONS} iterations of warm-up or measurement"
    return None if raw else "nothing was measured"


def tables(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sections of a run: calls over sockets, then the client's own work without a kernel."""
    sections = []
    posts = [entry for entry in raw if entry["benchmark"].endswith("PostBenchmark.post")]
    for callers in dict.fromkeys(entry["threads"] for entry in posts):
        mine = [entry for entry in posts if entry["threads"] == callers]
        netty = next((_rate(entry) for entry in mine if entry["params"]["client"] == "raw-netty"), None)
        rows = [
            [
                entry["params"]["client"],
                *_times(entry),
                f"{_rate(entry):.0f}",
                "-" if netty is None else f"{_rate(entry) / netty:.2f}",
                _bytes(entry),
            ]
            for entry in mine
        ]
        headings = ["client", "p50 us", "p90 us", "requests/s", "of raw Netty's", "B per call"]
        note = (
            "POSTs of 200 bytes on kept connections, SampleTime. raw-socket is a blocking socket that understands "
            "nothing: the limit. raw-netty has no pool, no time limits, no checks, no hooks. "
            "One I/O thread each, where a client can be told."
        )
        title = "POST, one caller" if callers == 1 else f"POST, {callers} callers"
        sections.append({"title": title, "headings": headings, "rows": rows, "notes": [note]})
    calls = [entry for entry in raw if entry["benchmark"].endswith("CallBenchmark.call")]
    if calls:
        rows = [
            [
                entry["params"]["client"],
                entry["params"]["bodyBytes"],
                f"{entry['primaryMetric']['score']:.0f}",
                _error(entry),
                _encode(entry),
                _bytes(entry),
            ]
            for entry in calls
        ]
        headings = ["client", "body bytes", "ns per call", "99.9 % interval", "of it encoding", "B per call"]
        note = (
            "The same POST over a channel without a kernel: what is written is dropped, the answer is there at once. "
            "Encoding: from the call to the write, with building and checking the request. What onewrite-timing and "
            "onewrite-listener cost above onewrite is the price of a timing record and of a listener for every event."
        )
        sections.append({"title": "The client's own work", "headings": headings, "rows": rows, "notes": [note]})
    return sections


def _rate(entry: dict[str, Any]) -> float:
    """Requests per second of all callers: each makes its next call when the one before is answered."""
    return float(entry["threads"] / entry["primaryMetric"]["score"] * 1e6)


def _times(entry: dict[str, Any]) -> list[str]:
    percentiles = entry["primaryMetric"]["scorePercentiles"]
    return [f"{percentiles[level]:.1f}" for level in ("50.0", "90.0")]


def _error(entry: dict[str, Any]) -> str:
    error = entry["primaryMetric"]["scoreError"]
    return f"± {error:.0f}" if isinstance(error, float) and math.isfinite(error) else "-"


def _encode(entry: dict[str, Any]) -> str:
    """The two counters are sums over the same calls."""
    spent, calls = (entry["secondaryMetrics"].get(name) for name in ("encodeNanos", "calls"))
    return "-" if not spent or not calls or not calls["score"] else f"{spent['score'] / calls['score']:.0f}"


def _bytes(entry: dict[str, Any]) -> str:
    metric = next((value for name, value in entry["secondaryMetrics"].items() if "alloc.rate.norm" in name), None)
    return "-" if metric is None else f"{metric['score']:.0f}"
