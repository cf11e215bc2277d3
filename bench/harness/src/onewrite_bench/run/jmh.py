"""`jmh`: runs Java's benchmarks (bench/jmh), and writes their table and the cost per request for the README.

JMH runs one fork after the other, and a shared machine changes meanwhile. A round of ours starts a JMH process with one
fork for each variant. They warm up together, and then take turns (Turns.java).
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from onewrite_lab.servers.children import Children

from onewrite_bench.console import Console
from onewrite_bench.ends import tied
from onewrite_bench.failures import BenchError
from onewrite_bench.paths import BENCH, BUILD
from onewrite_bench.report import jmh as report
from onewrite_bench.topology.servers import Servers
from onewrite_bench.verdict import machine

__all__ = ["add_arguments"]

PACKAGE = "io.github.onewrite.bench"
JVM = ("-Xmx128m", "-XX:+UseSerialGC")
TIME_LIMIT_S = 300
SHORT = ("-wi", "0", "-i", "2", "-r", "50ms")
"""JMH's options for a test of the harness: its figures mean nothing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "benchmark",
        nargs="*",
        help=f"default: all of {', '.join(report.BENCHMARKS)}; the results of the others are kept",
    )
    parser.add_argument("--short", action="store_true", help="one short fork of two variants, to test the harness")
    parser.add_argument("--out", type=Path, default=BUILD, metavar="DIR", help="the folder of jmh.json")
    parser.add_argument("--costs", type=Path, metavar="DIR", help="write results.json for the table of costs there")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    names = options.benchmark or list(report.BENCHMARKS)
    unknown = [name for name in names if name not in report.BENCHMARKS]
    if unknown:
        raise BenchError(f"no benchmark {unknown[0]!r}; there are {', '.join(report.BENCHMARKS)}")
    console, began = Console(), time.monotonic()
    raw = options.out / "jmh"
    raw.mkdir(parents=True, exist_ok=True)
    found = report.Jmh(
        command="make -C bench jmh", date=datetime.date.today().isoformat(), machine=machine.describe(), runtime=_java()
    )
    with TemporaryDirectory(prefix="onewrite-jmh-") as directory, Children(Path(directory)) as children:
        servers = Servers(children, {"haproxy": True}, Path(directory))
        for name in names:
            benchmark = report.BENCHMARKS[name]
            if options.short:
                variants = benchmark.variants[0], benchmark.variants[-1]
                benchmark = replace(benchmark, variants=variants, options=SHORT, warm=102, rounds=1)
            for number in range(benchmark.rounds):
                console.line(f"jmh: {name}, round {number + 1}")
                found.add(name, _round(name, benchmark, number, raw, servers, children))
    found.seconds = round(time.monotonic() - began)
    kept = report.read(options.out / "jmh.json") if options.benchmark and not options.short else None
    if kept is not None:
        found.keep(kept)
    (options.out / "jmh.json").write_text(found.text())
    print(report.text(found))
    if options.costs is not None:
        found.write_costs(options.costs)
    return 0


def _round(
    name: str, benchmark: report.Benchmark, number: int, raw: Path, servers: Servers, children: Children
) -> dict[str, Path]:
    """Run one fork of each variant, in turns. Returns JMH's file of each."""
    classpath = _classpath()
    origin = [*tied(), "java", *JVM, "-cp", classpath, f"{PACKAGE}.Origin", str(len(benchmark.variants))]
    ports = children.start(f"origin of {name} {number}".replace("/", " "), origin).ready["ports"]
    assert isinstance(ports, dict)
    properties = [f"-Dorigin={ports['post']}", f"-Dturns={ports['turns']}"]
    properties += [f"-Dhaproxy={servers.port('haproxy/http-buffer-request')}", f"-Dwarm={benchmark.warm}"]

    def fork(variant: str) -> Path:
        file = raw / f"{name.replace(' ', '-')}.{number + 1}.{variant}.json"
        command = [*tied(), "java", "-Djmh.ignoreLock=true", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", classpath]
        command += ["org.openjdk.jmh.Main", rf"\.{benchmark.method}$", "-f", "1", "-foe", "true"]
        command += ["-p", f"library={benchmark.param}", "-p", f"variant={variant}", "-p", f"size={benchmark.size}"]
        command += ["-prof", "gc", "-prof", f"{PACKAGE}.CpuProfiler", "-rf", "json", "-rff", str(file)]
        command += benchmark.options
        command += ["-jvmArgs", " ".join([*JVM, "-Xms128m", *properties])]
        _run_to_end(f"{name}, {variant}", command)
        return file

    with ThreadPoolExecutor(len(benchmark.variants)) as pool:
        return dict(zip(benchmark.variants, pool.map(fork, benchmark.variants), strict=True))


def _run_to_end(name: str, command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"jmh: {name} did not end within {TIME_LIMIT_S} s") from error
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if "Exception" in line or "rror" in line]
        raise BenchError(f"jmh: {name} failed: {(lines or ['no reason given'])[0].strip()}")


def _classpath() -> str:
    kept = BENCH / "jmh" / "target" / "classpath"
    if not kept.exists():
        raise BenchError("bench/jmh is not built: make -C bench jmh-ready")
    return f"{BENCH / 'jmh' / 'target' / 'classes'}:{kept.read_text().strip()}"


def _java() -> str:
    shown = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
    return "Java " + shown.split('"')[1]  # openjdk version "17.0.1" 2024-01-02
