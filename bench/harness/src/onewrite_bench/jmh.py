"""`jmh`: the Java adapter's call beside its peers. Runs JMH against the bench's origin and makes a table of its JSON.

JMH is a closed loop: it says what a call costs, nothing about stalls. Numbers from a shortcut (no fork, one fork,
a single iteration) are shown with a warning and never put into the report.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from . import bench, machine, report
from .children import Children
from .console import Console
from .failures import BenchError
from .paths import BENCH, BUILD
from .places import Places
from .results import Run

__all__ = ["add_arguments", "shortcut", "tables"]

JAR = BENCH / "jmh" / "target" / "benchmarks.jar"
LEAST_FORKS, LEAST_ITERATIONS = 2, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR")
    parser.add_argument("--results", type=Path, metavar="FILE", help="write the Markdown report here as well")
    parser.add_argument("arguments", nargs="*", help="for JMH, after --; a shortcut is not published")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    java = shutil.which("java")
    if java is None or not JAR.exists():
        raise BenchError("the benchmarks are not built: make -C bench jmh")
    console = Console()
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    arguments = " ".join(argument for argument in options.arguments if argument != "--")
    command_line = "make -C bench jmh" + (f' JMH_ARGS="{arguments}"' if arguments else "")
    run = Run("jmh", "What a call costs in Java", command_line, now, machine=machine.describe())
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="onewrite-jmh-") as name, Children(Path(name)) as children:
        places = Places(children, {}, Path(name))
        url = f"http://127.0.0.1:{places.port('origin/plain')}/"
        result = Path(name) / "jmh.json"
        command = [java, "-jar", str(JAR), "-p", f"url={url}", "-prof", "gc", "-rf", "json", "-rff", str(result)]
        command += [argument for argument in options.arguments if argument != "--"]
        console.say("jmh: about ten minutes with its defaults; its own progress follows")
        done = subprocess.run(command, check=False)
        if done.returncode != 0 or not result.exists():
            raise BenchError(f"JMH ended with status {done.returncode} and left no result")
        raw: list[dict[str, Any]] = json.loads(result.read_text())
    run.seconds = round(time.monotonic() - began, 1)
    run.sections = tables(raw)
    run.notes.append("JMH 1.37, SampleTime; bytes are allocated by the client's process, the origin is another one.")
    run.exit_status = 0
    print(report.text(run))
    reason = shortcut(raw)
    if reason is not None:
        console.say(f"jmh: not put into the report: {reason}")
        return 0
    options.out.mkdir(parents=True, exist_ok=True)
    bench.save(run, options.out)
    report.write(options.out, options.results)
    return 0


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
    """Sections of a run: calls, then encoding."""
    posts = [entry for entry in raw if entry["benchmark"].endswith("PostBenchmark.post")]
    others = [entry for entry in raw if entry not in posts]
    sections = []
    if posts:
        rows = [[entry["params"]["client"], *_times(entry, 1), _bytes(entry)] for entry in posts]
        headings = ["client", "p50 us", "p90 us", "B per call"]
        note = "A POST of 200 bytes, one caller, one kept connection. raw-netty has no pool, no time limits, no hooks."
        sections.append({"title": "POST", "headings": headings, "rows": rows, "notes": [note]})
    if others:
        rows = [
            [
                entry["benchmark"].rsplit(".", 1)[1],
                entry["params"].get("bodyBytes", "-"),
                *_times(entry, 1),
                _bytes(entry),
            ]
            for entry in others
        ]
        headings = ["head and body", "body bytes", "p50 ns", "p90 ns", "B per call"]
        note = "Netty's encoder, then: gathered by one writev, copied into one buffer, composed without a copy."
        sections.append({"title": "Encoding", "headings": headings, "rows": rows, "notes": [note]})
    return sections


def _short(entry: dict[str, Any]) -> str:
    return str(entry["benchmark"]).rsplit(".", 1)[1]


def _times(entry: dict[str, Any], digits: int) -> list[str]:
    percentiles = entry["primaryMetric"]["scorePercentiles"]
    return [f"{percentiles[level]:.{digits}f}" for level in ("50.0", "90.0")]


def _bytes(entry: dict[str, Any]) -> str:
    metric = next((value for name, value in entry["secondaryMetrics"].items() if "alloc.rate.norm" in name), None)
    return "-" if metric is None else f"{metric['score']:.0f}"
