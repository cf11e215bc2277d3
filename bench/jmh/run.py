"""What a call costs in Java: processor time of the client's process for a POST of 200 bytes over loopback.

Variants are bare Netty on FixedChannelPool (stock), a second process of the same (stock again), and onewrite without hooks,
with on_timing and with a listener of every event. OpenTelemetry is its instrumentation on bare Netty, with the SDK and
without an exporter: what a user would run instead. The processes of a group take turns with blocks of requests. A ratio
compares a block with stock's block of the same round; a group gives the median of its rounds. The JIT compiles the same
code differently in each process, so there are several groups, with new processes: the table has the median group, the
smallest and the largest.

Writes java/bench/RESULTS.md and java/bench/results.json. Exit 2, and no table, where "stock again" differs by more than 3 %.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
JAVA = HERE.parents[1] / "java"
OUT = JAVA / "bench"
VARIANTS = ("stock", "stock again", "onewrite", "on_timing", "every event", "OpenTelemetry")
OPTIONS = ["-Xms256m", "-Xmx256m", "-XX:+UseSerialGC"]
CALLERS = (1, 50)
ERROR = 0.03
BUILD_CLASSPATH = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"


def java(processor: int, classpath: str, *arguments: str) -> subprocess.Popen[str]:
    """Clients and server have a processor each: a thread that moves between them costs more or less at random."""
    pin = ["taskset", "-c", str(processor)] if os.cpu_count() > 1 and shutil.which("taskset") else []
    return subprocess.Popen([*pin, "java", *OPTIONS, "-cp", classpath, *arguments],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def stop(process: subprocess.Popen[str]) -> None:
    process.stdin.close()
    process.wait(10)


class Variant:
    """A client process."""

    def __init__(self, name: str, classpath: str, url: str) -> None:
        self.name = name
        self.process = java(0, classpath, "Caller", name, url)
        self.clock = ((~self.process.pid) << 3) | 2  # clock_getcpuclockid(3)

    def block(self, callers: int, calls: int) -> dict[str, float]:
        """CPU in ns, wall time in ns and allocated bytes, per call."""
        before = time.clock_gettime_ns(self.clock)
        self.process.stdin.write(f"{callers} {calls}\n")
        self.process.stdin.flush()
        took, allocated = map(int, self.process.stdout.readline().split())
        cpu = time.clock_gettime_ns(self.clock) - before
        return {"cpu": cpu / calls, "wall": took / calls, "bytes": allocated / calls}


def group(classpath: str, url: str, options: argparse.Namespace) -> dict[tuple[str, int], dict[str, float]]:
    """Medians of one set of processes, by variant and number of callers."""
    variants = [Variant(name, classpath, url) for name in VARIANTS]
    for _ in range(options.warm):
        for variant in variants:
            for callers in CALLERS:
                variant.block(callers, options.calls)
    rounds = {(name, callers): [] for callers in CALLERS for name in VARIANTS}
    for _ in range(options.rounds):
        for callers in CALLERS:
            # Shuffled: in a fixed order each variant would find the caches as the same other one left them.
            for variant in random.sample(variants, len(variants)):
                rounds[variant.name, callers].append(variant.block(callers, options.calls))
    for variant in variants:
        stop(variant.process)
    medians = {}
    for (name, callers), mine in rounds.items():
        stock = rounds["stock", callers]
        medians[name, callers] = {
            "ratio": statistics.median(a["cpu"] / b["cpu"] for a, b in zip(mine, stock)),
            "rate": statistics.median(b["wall"] / a["wall"] for a, b in zip(mine, stock)),
            "cpu": statistics.median(block["cpu"] for block in mine),
            "bytes": statistics.median(block["bytes"] for block in mine),
        }
    return medians


def rows(groups: list[dict[tuple[str, int], dict[str, float]]]) -> list[dict]:
    made = []
    for name, callers in groups[0]:
        all_of = {what: [group[name, callers][what] for group in groups] for what in ("ratio", "rate", "cpu", "bytes")}
        made.append({
            "name": name if callers == 1 else f"{name}, {callers} callers",
            "ratio": round(statistics.median(all_of["ratio"]), 3),
            "min": round(min(all_of["ratio"]), 3), "max": round(max(all_of["ratio"]), 3), "n": len(groups),
            "cpu_us": round(statistics.median(all_of["cpu"]) / 1000, 1),
            "rate": round(statistics.median(all_of["rate"]), 3),
            "bytes": round(statistics.median(all_of["bytes"])),
        })
    return made


def report(measured: list[dict], about: dict, options: argparse.Namespace) -> str:
    lines = [
        "# What a call costs in Java", "",
        f"Processor time of the client's process for a POST of 200 bytes over loopback, beside {about['base']} on "
        f"FixedChannelPool. {options.groups} groups of processes, {options.rounds} rounds of {options.calls} requests each: "
        "the median group, the smallest and the largest. \"stock again\" is a second process of stock: the error of the "
        "method. \"rate\" is requests per second beside stock.", "",
        "| variant | CPU beside stock | range | CPU per call | rate | bytes per call |",
        "|---|---:|---|---:|---:|---:|",
    ]
    for row in measured:
        lines.append(f"| {row['name']} | {row['ratio']:.2f} | {row['min']:.2f}–{row['max']:.2f} | "
                     f"{row['cpu_us']:.1f} µs | {row['rate']:.2f} | {row['bytes']} |")
    lines += ["", f"`{about['command']}`, commit {about['commit']}, {about['date']}, {about['runtime']}, {about['machine']}.", ""]
    return "\n".join(lines)


def build(folder: str) -> str:
    subprocess.run(["make", "-s", "-C", JAVA, "driver"], check=True)
    libraries = (JAVA / "driver" / "target" / "classpath").read_text().strip()
    tracing = pathlib.Path(folder) / "tracing"
    subprocess.run([JAVA.parent / ".ci" / "mvn", "-f", HERE / "pom.xml", f"-Dmdep.outputFile={tracing}", BUILD_CLASSPATH], check=True)
    libraries = f"{libraries}:{tracing.read_text().strip()}"
    subprocess.run(["javac", "--release", "17", "-Xlint:all,-processing,-classfile,-try", "-Werror", "-cp", libraries,
                    "-d", folder, *map(str, sorted(HERE.glob("src/*.java")))], check=True)
    return f"{folder}:{libraries}"


def commit() -> str:
    """The commit of the checkout; a + says that sources differ from it."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=8", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no", JAVA / "core") else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=4, help="how often all processes are started")
    parser.add_argument("--warm", type=int, default=25, help="rounds of each group that do not count: the JIT works")
    parser.add_argument("--rounds", type=int, default=30, help="rounds that count")
    parser.add_argument("--calls", type=int, default=1000, help="POSTs in a block")
    parser.add_argument("--show", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        classpath = build(folder)
        origin = java(1, classpath, "Origin")
        try:
            url = f"http://127.0.0.1:{json.loads(origin.stdout.readline())['ports']['plain']}/"
            measured = rows([group(classpath, url, options) for _ in range(options.groups)])
        finally:
            stop(origin)
    runtime = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.splitlines()[1].strip()
    netty = next(part for part in classpath.split(":") if "netty-codec-http-" in part)
    about = {
        "language": "java", "base": "bare Netty " + pathlib.Path(netty).stem.removeprefix("netty-codec-http-"),
        "runtime": runtime, "date": datetime.date.today().isoformat(), "command": "make -C java bench", "commit": commit(),
        "machine": f"{platform.system()} {platform.release()}, {os.cpu_count()} processors",
    }
    noise = max(abs(row["ratio"] - 1) for row in measured if row["name"].startswith("stock again"))
    text = report(measured, about, options)
    if noise > ERROR:
        text += f"\nStock differs from itself by {noise:.1%}, more than {ERROR:.0%}: **these figures are not publishable**.\n"
    print(text)
    if not options.show:
        OUT.mkdir(exist_ok=True)
        (OUT / "RESULTS.md").write_text(text)
        kept = [{key: row[key] for key in ("name", "ratio", "min", "max", "n")} for row in measured]
        (OUT / "results.json").write_text(json.dumps({**about, "rows": kept}, indent=1) + "\n")
    return 2 if noise > ERROR else 0


if __name__ == "__main__":
    if shutil.which("java") is None:
        sys.exit("there is no java: make -C java setup")
    sys.exit(main())
