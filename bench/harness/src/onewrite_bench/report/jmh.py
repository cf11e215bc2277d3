"""The results of bench/jmh: ratios of JMH's figures to stock's, turn by turn, and their tables.

A round has one fork of each variant, which take turns. A ratio divides the CPU of a turn by that of stock's turn of the
same number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from onewrite_bench.report.table import Table, ms

__all__ = ["BENCHMARKS", "Benchmark", "Jmh", "markdown", "read", "text"]

CPU, BYTES = "cpu", "gc.alloc.rate.norm"
STOCK, AGAIN = "stock", "stockAgain"
MOST_ERROR = 0.03
"""The largest difference of two forks of stock. Above it the benchmark is not published."""

NETTY = (STOCK, AGAIN, "onewrite", "onTiming", "openTelemetry")
OTHERS = (STOCK, AGAIN, "onewrite", "onTiming")
SHOWN = {STOCK: "stock", AGAIN: "stock again", "onTiming": "on_timing", "openTelemetry": "OpenTelemetry"}


@dataclass(frozen=True)
class Benchmark:
    """A method of bench/jmh and its parameters. `library` and `request` are as in the table of costs."""

    method: str
    library: str
    request: str
    size: int = 200
    variants: tuple[str, ...] = NETTY
    rounds: int = 2


BENCHMARKS = {
    "netty": Benchmark("Post.oneCaller", "Netty", "200 B", rounds=3),
    "netty-50": Benchmark("Post.fiftyCallers", "Netty", "50 callers"),
    "netty-20kB": Benchmark("Post.oneCaller", "Netty", "20 kB", 20_000),
    "netty-50-20kB": Benchmark("Post.fiftyCallers", "Netty", "50 callers of 20 kB", 20_000),
    "okhttp": Benchmark("PostOkHttp.oneCaller", "OkHttp", "200 B", variants=OTHERS),
    "reactor-netty": Benchmark("PostReactorNetty.oneCaller", "Reactor Netty", "200 B", variants=OTHERS),
    "stall": Benchmark("Stall.throughHaproxy", "Netty", "stall", variants=(STOCK, "onewrite", "onTiming")),
}


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
                row = {"benchmark": name, "variant": variant, "ratios": []}
                row |= {what: [] for what in ("cpu_us", "bytes", "p50_us", "p99_us")}
                self.rows.append(row)
            cpu = _turns(result, CPU)
            percentiles = result["primaryMetric"]["scorePercentiles"]
            row["ratios"].append([round(mine / beside, 3) for mine, beside in zip(cpu, stock, strict=False)])
            row["cpu_us"].append(round(median(cpu), 1))
            row["bytes"].append(round(median(_turns(result, BYTES))))
            row["p50_us"].append(round(percentiles["50.0"], 1))
            row["p99_us"].append(round(percentiles["99.0"], 1))

    def text(self) -> str:
        """The JSON that is kept, a line per row."""
        head = {name: value for name, value in asdict(self).items() if name != "rows"}
        rows = ",\n".join(json.dumps(row) for row in self.rows)
        return json.dumps(head)[:-1] + f', "rows": [\n{rows}\n]}}\n'

    def noise(self, name: str) -> float | None:
        """By how much stock differs from itself; None for a benchmark without stock again."""
        row = next((row for row in self.rows if (row["benchmark"], row["variant"]) == (name, AGAIN)), None)
        return None if row is None else abs(_ratio(row)["ratio"] - 1)

    def write_costs(self, folder: Path) -> None:
        """Write results.json of each library, in the form of `costs`."""
        folder.mkdir(parents=True, exist_ok=True)
        for library in dict.fromkeys(one.library for one in BENCHMARKS.values()):
            rows = []
            for row in self.rows:
                benchmark = BENCHMARKS[row["benchmark"]]
                if benchmark.library == library and benchmark.request != "stall":
                    name = SHOWN.get(row["variant"], row["variant"])
                    rows.append({"name": f"{name}, {benchmark.request}", **_ratio(row)})
            if rows:
                about = {"language": "java", "base": library, "runtime": self.runtime, "date": self.date}
                about |= {"command": self.command, "commit": self.machine["commit"]}
                suffix = "" if library == "Netty" else "-" + library.lower().replace(" ", "-")
                shown = ",\n".join("  " + json.dumps(row) for row in rows)
                written = json.dumps(about)[:-1] + f', "rows": [\n{shown}\n]}}\n'
                (folder / f"results{suffix}.json").write_text(written)


def read(path: Path) -> Jmh | None:
    """What is kept in this file, or None where there is none."""
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
    for name in dict.fromkeys(row["benchmark"] for row in found.rows):
        noise = found.noise(name)
        if noise is None or noise > MOST_ERROR:
            continue
        of = {row["variant"]: row for row in found.rows if row["benchmark"] == name}
        line = [f"{BENCHMARKS[name].library}, {BENCHMARKS[name].request}", f"{median(of[STOCK]['cpu_us']):.0f} µs"]
        line += [_ratio_text(of.get(variant)) for variant in NETTY[1:]]
        more = [_bytes(of.get(variant), of[STOCK]) for variant in NETTY[2:]]
        turns = _ratio(of[STOCK])["n"]
        table.append([*line, "/".join(more), f"{turns} in {len(of[STOCK]['ratios'])}"])
    variants = [SHOWN.get(variant, variant) for variant in NETTY[1:]]
    return Table(("request", "stock", *variants, "bytes more", "turns in rounds"), table)


def _ratio_text(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "-"
    of = _ratio(row)
    return f"{of['ratio']:.2f} ({of['min']:.2f}–{of['max']:.2f})"


def _bytes(row: Mapping[str, Any] | None, stock: Mapping[str, Any]) -> str:
    return "-" if row is None else f"{median(row['bytes']) - median(stock['bytes']):.0f}"


def _stall(found: Jmh) -> Table:
    names = {STOCK: "two writes, Nagle on", "onewrite": "the same with onewrite", "onTiming": "the same with on_timing"}
    rows = [
        [names[row["variant"]], *(_spread(row[name]) for name in ("p50_us", "p99_us")), str(len(row["p50_us"]))]
        for row in found.rows
        if BENCHMARKS[row["benchmark"]].request == "stall"
    ]
    return Table(("Netty's client", "p50, ms", "p99, ms", "rounds"), rows)


def _spread(values: list[float]) -> str:
    return f"{ms(median(values))} ({ms(min(values))}–{ms(max(values))})"


def _notes(found: Jmh) -> list[str]:
    names = dict.fromkeys(row["benchmark"] for row in found.rows)
    noisy = {name: found.noise(name) or 0 for name in names}
    return [
        f"{BENCHMARKS[name].library}, {BENCHMARKS[name].request}: not published, stock again differs by {noise:.1%}."
        for name, noise in noisy.items()
        if noise > MOST_ERROR
    ]


COST = (
    "The table shows what a POST costs in Java, by JMH: CPU of the client's Java threads for one request on a kept "
    "connection over loopback. *stock* is its CPU; the next columns divide a turn of the variant by stock's turn (1 "
    "= no cost): the median of all turns and, in brackets, the lowest and the highest median of a round. A turn "
    "lasts 100 ms, and a round has a new fork of each variant. *stock again* measures stock twice: its distance "
    "from 1 is noise. *on_timing* has a hook. *OpenTelemetry* is its instrumentation of Netty, on stock, with an "
    "SDK that has a span processor and a meter and exports nothing. *bytes more* are allocated by onewrite, "
    "on_timing and OpenTelemetry. Netty's pool is FixedChannelPool; fifty callers are fifty asynchronous requests "
    "at once."
)
STALL = (
    "The second table shows the stall itself, by JMH's SampleTime: a POST of Netty through HAProxy with `option "
    "http-buffer-request`, head and body flushed apart. In brackets stand the lowest and the highest round."
)


def text(found: Jmh) -> str:
    """The tables for a terminal."""
    return "\n\n".join([_costs(found).text(), _stall(found).text(), *_notes(found), f"{found.seconds} s"])


def markdown(found: Jmh) -> str:
    """The section of RESULTS.md."""
    parts = [f"## jmh: A POST of Java\n\n{COST}", _costs(found).markdown(), *_notes(found)]
    stall = _stall(found)
    parts += [STALL, stall.markdown()] if stall.rows else []
    return "\n\n".join([*parts, f"`{found.command}`, commit {found.machine.get('commit')}, {found.date}."])
