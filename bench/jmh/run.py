"""What a call costs in Java: processor time of the client's process for a POST of 200 bytes over loopback.

Variants are bare Netty on FixedChannelPool (stock), a second process of the same (stock again), and onewrite without hooks,
with on_timing and with a listener of every event. Each has its own process, warmed until two halves of a block agree
within 2 %. The variants take turns, in random order; each turn is compared with the turn of stock in the same round.

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
VARIANTS = ("stock", "stock again", "onewrite", "on_timing", "every event")
OPTIONS = ["-Xms256m", "-Xmx256m", "-XX:+UseSerialGC"]
ERROR = 0.03


class Variant:
    """A process, and what its turns measured."""

    def __init__(self, name: str, classpath: str, url: str) -> None:
        self.name = name
        self.process = subprocess.Popen(
            ["java", *OPTIONS, "-cp", classpath, "Caller", name, url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        self.clock = ((~self.process.pid) << 3) | 2  # clock_getcpuclockid(3)

    def turn(self, callers: int, calls: int) -> dict[str, float]:
        """CPU in ns, wall time in ns and allocated bytes, per call."""
        before = time.clock_gettime_ns(self.clock)
        self.process.stdin.write(f"{callers} {calls}\n")
        self.process.stdin.flush()
        took, allocated = map(int, self.process.stdout.readline().split())
        cpu = time.clock_gettime_ns(self.clock) - before
        return {"cpu": cpu / calls, "wall": took / calls, "bytes": allocated / calls}

    def warm(self, callers: int, calls: int, limit: float) -> None:
        self.turn(callers, calls)
        until = time.monotonic() + limit
        while time.monotonic() < until:
            halves = [statistics.median(self.turn(callers, calls // 4)["cpu"] for _ in range(4)) for _ in range(2)]
            if abs(halves[0] / halves[1] - 1) < 0.02:
                return
        print(f"{self.name}: not steady after {limit:.0f} s", file=sys.stderr)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(10)


def quartiles(values: list[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def build(folder: str) -> str:
    subprocess.run(["make", "-s", "-C", JAVA, "driver"], check=True)
    libraries = (JAVA / "driver" / "target" / "classpath").read_text().strip()
    subprocess.run(["javac", "--release", "17", "-Xlint:all,-processing,-classfile,-try", "-Werror", "-cp", libraries,
                    "-d", folder, *map(str, sorted(HERE.glob("src/*.java")))], check=True)
    return f"{folder}:{libraries}"


def measure(classpath: str, url: str, callers: int, options: argparse.Namespace) -> list[dict]:
    """One row for each variant. Several generations of processes: two JVMs with the same code are not equally fast."""
    ratios: dict[str, dict[str, list[float]]] = {name: {"cpu": [], "wall": []} for name in VARIANTS}
    costs: dict[str, list[dict[str, float]]] = {name: [] for name in VARIANTS}
    for generation in range(options.generations):
        variants = [Variant(name, classpath, url) for name in VARIANTS]
        for variant in variants:
            variant.warm(callers, options.calls * 4, options.warm)
        for _ in range(options.rounds):
            random.shuffle(variants)
            turns = {variant.name: variant.turn(callers, options.calls) for variant in variants}
            for name, turn in turns.items():
                costs[name].append(turn)
                for what, values in ratios[name].items():
                    values.append(turn[what] / turns["stock"][what])
        for variant in variants:
            variant.close()
    suffix = "" if callers == 1 else f", {callers} callers"
    rows = []
    for name in VARIANTS:
        ratio, low, high = quartiles(ratios[name]["cpu"])
        rows.append({
            "name": name + suffix, "ratio": round(ratio, 3), "low": round(low, 3), "high": round(high, 3),
            "cpu_us": round(statistics.median(turn["cpu"] for turn in costs[name]) / 1000, 2),
            "rate": round(1 / statistics.median(ratios[name]["wall"]), 3),
            "bytes": round(statistics.median(turn["bytes"] for turn in costs[name])),
        })
    return rows


def report(rows: list[dict], about: dict) -> str:
    lines = [
        "# What a call costs in Java", "",
        f"Processor time of the client's process for a POST of 200 bytes over loopback, beside {about['base']} on "
        "FixedChannelPool. Median of neighbouring turns, with the quartiles. \"stock again\" is a second process of stock: "
        "the error of the method. \"rate\" is requests per second beside stock.", "",
        "| variant | CPU beside stock | quartiles | CPU per call | rate | bytes per call |",
        "|---|---:|---|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(f"| {row['name']} | {row['ratio']:.3f} | {row['low']:.3f} to {row['high']:.3f} | "
                     f"{row['cpu_us']:.1f} µs | {row['rate']:.2f} | {row['bytes']} |")
    lines += ["", f"`{about['command']}`, {about['date']}, {about['runtime']}, {about['machine']}.", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40, help="turns of each variant, in each generation")
    parser.add_argument("--calls", type=int, default=4000, help="POSTs in a turn")
    parser.add_argument("--generations", type=int, default=3, help="how often all processes are started")
    parser.add_argument("--warm", type=float, default=30, help="seconds at most until a process is steady")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 50])
    parser.add_argument("--show", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        classpath = build(folder)
        origin = subprocess.Popen(["java", *OPTIONS, "-cp", classpath, "Origin"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            url = f"http://127.0.0.1:{json.loads(origin.stdout.readline())['ports']['plain']}/"
            rows = [row for callers in options.callers for row in measure(classpath, url, callers, options)]
        finally:
            origin.stdin.close()
            origin.wait(10)
    runtime = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.splitlines()[1].strip()
    netty = next(part for part in classpath.split(":") if "netty-codec-http-" in part)
    about = {
        "language": "java", "base": "bare Netty " + pathlib.Path(netty).stem.removeprefix("netty-codec-http-"),
        "runtime": runtime, "date": datetime.date.today().isoformat(), "command": "make -C java bench",
        "machine": f"{platform.system()} {platform.release()}, {os.cpu_count()} processors",
    }
    text = report(rows, about)
    print(text)
    wrong = [row for row in rows if row["name"].startswith("stock again") and abs(row["ratio"] - 1) > ERROR]
    if wrong:
        print(f"not written: stock differs from itself by more than {ERROR:.0%}", file=sys.stderr)
        return 2
    if not options.show:
        OUT.mkdir(exist_ok=True)
        (OUT / "RESULTS.md").write_text(text)
        kept = [{key: row[key] for key in ("name", "ratio", "low", "high")} for row in rows]
        (OUT / "results.json").write_text(json.dumps({**about, "rows": kept}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    if shutil.which("java") is None:
        sys.exit("there is no java: make -C java setup")
    sys.exit(main())
