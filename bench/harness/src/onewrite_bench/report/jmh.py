"""The results of bench/jmh: ratios of JMH's figures to stock's, turn by turn, and their tables.

A round has one fork of each variant; the forks take turns. A ratio divides the CPU of a turn by that of stock's turn of
the same number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from onewrite_bench.report.costs import MOST_NOISE, noise_text
from onewrite_bench.report.table import Table, ms

__all__ = ["BENCHMARKS", "Benchmark", "Jmh", "markdown", "read", "stall", "text"]

CPU, BYTES = "cpu", "gc.alloc.rate.norm"
STOCK, AGAIN = "stock", "stockAgain"
OTHERS = (STOCK, AGAIN, "onewrite", "onTiming")
NETTY = (*OTHERS, "openTelemetry")
SHOWN = {STOCK: "stock", AGAIN: "stock again", "onTiming": "on_timing", "openTelemetry": "OpenTelemetry"}
TURNS = ("-wi", "3", "-w", "100ms", "-i", "24", "-r", "100ms")
"""JMH's options for the warm-up and the turns of a fork."""


@dataclass(frozen=True)
class Benchmark:
    """A method of Post.java and its parameters. `library` and `request` are as in the table of costs."""

    param: str
    library: str
    request: str
    method: str = "oneCaller"
    size: int = 200
    variants: tuple[str, ...] = OTHERS
    rounds: int = 3
    options: tuple[str, ...] = TURNS
    warm: int = 20_000
    """The number of requests before the first turn."""


BENCHMARKS = {
    "netty": Benchmark("netty", "Netty", "200 B", variants=NETTY, rounds=5),
    "netty-20kB": Benchmark("netty", "Netty", "20 kB", size=20_000, variants=NETTY, rounds=2),
    "netty-50": Benchmark("netty", "Netty", "50 callers", "fiftyCallers", variants=NETTY, rounds=2),
    "okhttp": Benchmark("okHttp", "OkHttp", "200 B"),
    "reactor-netty": Benchmark("reactorNetty", "Reactor Netty", "200 B", rounds=4),
    "stall": Benchmark(
        "nettyStall", "Netty", "stall", variants=(STOCK, "onewrite", "onTiming"), rounds=1,
        options=("-wi", "3", "-w", "500ms", "-i", "10", "-r", "500ms"), warm=50,
    ),
}  # fmt: skip


@dataclass
class Jmh:
    """The rows of all benchmarks. A row has a value per round; times are in microseconds."""

    command: str
    date: str
    machine: dict[str, Any]
    runtime: str
    seconds: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, files: Mapping[str, Path]) -> None:
        """Add a round: JMH's JSON file of each variant."""
        results = {variant: json.loads(path.read_text())[0] for variant, path in files.items()}
        stock = _turns(results[STOCK], CPU)
        for variant, result in results.items():
            row = next((one for one in self.rows if (one["benchmark"], one["variant"]) == (name, variant)), None)
            if row is None:
                row = {"benchmark": name, "variant": variant, "commit": self.machine["commit"], "ratios": []}
                row |= {what: [] for what in ("cpu_us", "bytes", "p50_us", "p99_us")}
                self.rows.append(row)
            cpu = _turns(result, CPU)
            percentiles = result["primaryMetric"]["scorePercentiles"]
            row["ratios"].append([round(mine / beside, 3) for mine, beside in zip(cpu, stock, strict=False)])
            row["cpu_us"].append(round(median(cpu), 1))
            row["bytes"].append(round(median(_turns(result, BYTES))))
            row["p50_us"].append(round(percentiles["50.0"], 1))
            row["p99_us"].append(round(percentiles["99.0"], 1))

    def keep(self, earlier: Jmh) -> None:
        """Add the rows of an earlier run whose benchmarks this one did not run."""
        ran = {row["benchmark"] for row in self.rows}
        self.rows += [row for row in earlier.rows if row["benchmark"] not in ran]

    def text(self) -> str:
        """The JSON that is kept, a line per row."""
        head = {name: value for name, value in asdict(self).items() if name != "rows"}
        rows = ",\n".join(json.dumps(row) for row in self.rows)
        return json.dumps(head)[:-1] + f', "rows": [\n{rows}\n]}}\n'

    def of(self, name: str) -> dict[str, dict[str, Any]]:
        """The rows of a benchmark by their variants."""
        return {row["variant"]: row for row in self.rows if row["benchmark"] == name}

    def costs(self) -> list[str]:
        """The benchmarks that measure cost, in the order of BENCHMARKS."""
        return [name for name in BENCHMARKS if AGAIN in self.of(name)]

    def noise(self, name: str) -> float:
        """The distance of stock's second fork from stock."""
        return abs(float(_ratio(self.of(name)[AGAIN])["ratio"]) - 1)

    def write_costs(self, folder: Path) -> None:
        """Write results.json of each library, in the form of `costs`."""
        folder.mkdir(parents=True, exist_ok=True)
        for library in dict.fromkeys(BENCHMARKS[name].library for name in self.costs()):
            names = [name for name in self.costs() if BENCHMARKS[name].library == library]
            rows = [
                {"name": f"{SHOWN.get(variant, variant)}, {BENCHMARKS[name].request}", **_ratio(row)}
                for name in names
                for variant, row in self.of(name).items()
            ]
            about = {"language": "java", "base": library, "runtime": self.runtime, "date": self.date}
            about |= {"command": self.command, "commit": _commits(self.rows)}
            suffix = "" if library == "Netty" else "-" + library.lower().replace(" ", "-")
            shown = ",\n".join("  " + json.dumps(row) for row in rows)
            written = json.dumps(about)[:-1] + f', "rows": [\n{shown}\n]}}\n'
            (folder / f"results{suffix}.json").write_text(written)


def read(path: Path) -> Jmh | None:
    """The results in this file, or None where there is none."""
    return Jmh(**json.loads(path.read_text())) if path.exists() else None


def _turns(result: Mapping[str, Any], metric: str) -> list[float]:
    """The figures of a secondary metric, by iteration. Some versions of JMH put a mark before its name."""
    metrics = result["secondaryMetrics"]
    return next(
        [float(one) for one in value["rawData"][0]] for name, value in metrics.items() if name.lstrip("·") == metric
    )


def _ratio(row: Mapping[str, Any]) -> dict[str, Any]:
    """The median of all turns, the lowest and the highest median of a round, and the number of turns."""
    rounds = [median(turns) for turns in row["ratios"]]
    turns = [one for turns in row["ratios"] for one in turns]
    figures = {"ratio": median(turns), "min": min(rounds), "max": max(rounds)}
    return {**{name: round(value, 3) for name, value in figures.items()}, "n": len(turns)}


def _costs(found: Jmh) -> Table:
    """A row per benchmark, in which the variants are columns."""
    table = []
    for name in found.costs():
        if found.noise(name) > MOST_NOISE:
            continue
        of = found.of(name)
        factors = [f"{_ratio(of[variant])['ratio']:.2f}" if variant in of else "-" for variant in NETTY[2:]]
        more = [median(of[variant]["bytes"]) - median(of[STOCK]["bytes"]) for variant in NETTY[2:] if variant in of]
        about = [f"{BENCHMARKS[name].library}, {BENCHMARKS[name].request}", f"{median(of[STOCK]['cpu_us']):.0f}"]
        shown = "/".join(f"{each:.0f}" for each in more)
        table.append([*about, *factors, noise_text(found.noise(name)), str(_ratio(of[STOCK])["n"]), shown])
    variants = [SHOWN.get(variant, variant) for variant in NETTY[2:]]
    return Table(("POST", "stock, µs", *variants, "noise", "n", "bytes more"), table)


def _stall(found: Jmh) -> Table:
    names = {STOCK: "stock", "onewrite": "onewrite", "onTiming": "onewrite, hook"}
    rows = [
        [names[variant], *(ms(median(row[name])) for name in ("p50_us", "p99_us"))]
        for variant, row in found.of("stall").items()
    ]
    return Table(("client", "p50", "p99"), rows)


def _notes(found: Jmh) -> list[str]:
    noisy = {name: found.noise(name) for name in found.costs() if found.noise(name) > MOST_NOISE}
    shown = [f"{BENCHMARKS[name].library}, {BENCHMARKS[name].request} ({noise:.0%})" for name, noise in noisy.items()]
    return [f"Too noisy to publish: {', '.join(shown)}."] if shown else []


COST = """# What a POST costs in Java

The table shows the CPU of a POST, relative to the stock library (1.00 = no cost), measured by JMH. *stock* is the CPU
of the client's Java threads for one POST on a kept connection over loopback, in µs. A factor is the median of *n* turns
of 100 ms, each divided by stock's turn beside it. *on_timing* is onewrite with a hook. *OpenTelemetry* is stock with
its instrumentation of Netty and an SDK that exports nothing. *noise* is the distance of a second fork of stock from
1.00. *bytes more* are the bytes that each of the three allocates beyond stock. Fifty callers are fifty asynchronous
requests at once."""
STALL = """## jmh: The stall in Java

The table shows the stall by JMH's SampleTime: POSTs of Netty for 5 s through HAProxy with `option http-buffer-request`,
in ms. Each client has Nagle on and flushes head and body separately. JMH also measures
[the cost of a POST](../java/bench/RESULTS.md)."""


def text(found: Jmh) -> str:
    """The tables for a terminal."""
    return "\n\n".join([_costs(found).text(), _stall(found).text(), *_notes(found), f"{found.seconds} s"])


def _commits(rows: list[dict[str, Any]]) -> str:
    return " and ".join(sorted({row["commit"] for row in rows}))


def _origin(found: Jmh) -> str:
    return f"`{found.command}`, commit {_commits(found.rows)}, {found.date}"


def markdown(found: Jmh) -> str:
    """java/bench/RESULTS.md: the costs."""
    origin = f"{_origin(found)}, {found.runtime}."
    return "\n\n".join([COST, _costs(found).markdown(), *_notes(found), origin]) + "\n"


def stall(found: Jmh) -> str:
    """The section of bench/RESULTS.md."""
    return "\n\n".join([STALL, _stall(found).markdown(), f"{_origin(found)}."])
