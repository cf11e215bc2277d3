"""The report from a run that is made up here: every form of it, and what it does with what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from onewrite_bench.engines import jmh
from onewrite_bench.generators.measurement import Distribution, Measurement
from onewrite_bench.paths import BENCH
from onewrite_bench.report import write as report
from onewrite_bench.report.entries import entries
from onewrite_bench.verdict.results import Cell, RateResult, Run, Verdict

MACHINE = {
    "system": "Linux", "kernel": "6.1", "architecture": "x86_64", "cpu": "A <CPU>", "cores": 2, "load_average": 0.5,
    "haproxy": "2.6", "python": "3.11", "onewrite": "0.1.0",
}  # fmt: skip


def cell(client: str, role: str, us: int, **fields: Any) -> Cell:
    made = Cell("python", "python", client, role, "buffered", stalls=True)
    made.latencies_us = [us + n for n in range(100)]
    made.segments = [[20, 20]]
    made.connections = made.connections_nodelay = 1
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def made_up() -> Run:
    run = Run(
        "post-stall",
        "Title & more",
        "make bench SCENARIO=post-stall",
        "2026-01-02T03:04:05Z",
        12.3,
        "A story.",
        MACHINE,
    )
    run.cells = [
        cell("control", "control", 44_000, segments=[[40, 20]], connections_nodelay=0),
        cell("stock", "shown", 300),
        cell("onewrite", "adapter", 200),
        Cell("ruby", "ruby", "onewrite", "adapter", "buffered", True, skipped="no ruby/driver/run"),
    ]
    seen = Measurement("built-in", "1", 133, 133, 10, 5, 665, 0, None, 90.0, Distribution.of([900] * 665)).judge(False)
    run.rates = [
        RateResult("python", "python", "onewrite", "adapter", "buffered", 133, 0.6, measurement=seen.to_json()),
        RateResult("ruby", "ruby", "onewrite", "adapter", "buffered", 133, 0.6, skipped="no ruby/driver/run"),
    ]
    run.verdicts = [
        Verdict(
            "python", "clean", "control p50 44 ms, adapter 0.2 ms", details={"intervals_us": {"buffered": [43e3, 44e3]}}
        ),
        Verdict("ruby", "not run", "no ruby/driver/run"),
    ]
    return run


def test_text_and_markdown_say_the_same() -> None:
    text = report.text(made_up())
    assert "python: clean: control p50 44 ms, adapter 0.2 ms" in text
    assert "saved at p50, 95 % bootstrap interval: buffered 43.0 to 44.0 ms" in text
    assert "ruby: not run: no ruby/driver/run" in text
    lines = report.markdown(made_up()).splitlines()
    assert "| python | clean | control p50 44 ms, adapter 0.2 ms | buffered 43.0 to 44.0 ms |" in lines
    assert "| ruby | not run | no ruby/driver/run | - |" in lines
    assert "| python | control | buffered | 44.0 | 100% | 2.00 | 0 of 1 |" in lines
    assert "| python | onewrite | buffered | 0.25 | 0% | 1.00 | 1 of 1 |" in lines
    assert "| ruby | onewrite | buffered | - | - | - | not run: no ruby/driver/run |" in lines
    assert "`make bench SCENARIO=post-stall`, 2026-01-02, 12 s." in lines[-1]


def test_what_was_offered_reached_and_sent_late_is_shown() -> None:
    lines = report.markdown(made_up()).splitlines()
    heading = next(line for line in lines if "| offered /s |" in line)
    row = next(line for line in lines if line.startswith("| python | onewrite | 133 |"))
    shown = dict(zip(heading.split(" | "), row.split(" | "), strict=True))
    assert (shown["offered /s"], shown["reached /s"], shown["sent late p90 ms"], shown["counted s"]) == (
        "133",
        "133",
        "0.09",
        "5",
    )


def test_which_generator_ran_and_for_how_long_is_shown() -> None:
    assert "built-in (1) sent for 0 s uncounted and 5 s counted" in report.markdown(made_up())


def test_the_report_begins_with_one_table_of_who_stalls(tmp_path: Path) -> None:
    stalled, cost = made_up(), made_up()
    for run in (stalled, cost):
        for cell in run.cells:
            cell.client = "stock urllib3" if cell.role == "control" else cell.client
    stalled.scenario, cost.scenario = "proxy-env", "per-call-cost"
    for cell in cost.cells:
        cell.extra["cpu_us"] = [200.0] * 3 if cell.role == "control" else [206.0] * 3
    report.save(stalled, tmp_path)
    report.save(cost, tmp_path)
    report.write(tmp_path, None)
    text = (tmp_path / "RESULTS.md").read_text()
    glance = text[text.index("## At a glance") : text.index("## proxy-env")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in glance.splitlines() if line.startswith("| u")]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("urllib3", "buffered", "-"),
        ("urllib3", "buffered", "1.03"),
    ]
    assert "Measured 2026-01-02." in glance
    assert glance.count("\n") < 20


def test_entries_are_what_github_action_benchmark_reads() -> None:
    found = entries([made_up()])
    assert [set(entry) - {"extra"} for entry in found] == [{"name", "unit", "value"}] * 2
    ratio = next(entry for entry in found if entry["unit"] == "ratio")
    assert ratio["value"] == pytest.approx(0.0057, abs=1e-4)
    assert next(entry for entry in found if entry["unit"] == "segments")["value"] == 1.0


def test_everything_is_written_and_an_old_result_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    report.save(made_up(), tmp_path)
    (tmp_path / "burst.json").write_text('{"version": 1, "cells": [{"no": "such"}], "rates": [], "verdicts": []}')
    report.write(tmp_path, tmp_path / "RESULTS-copy.md")
    assert "burst.json is left out" in capsys.readouterr().err
    assert summary.read_text() == (tmp_path / "RESULTS.md").read_text() == (tmp_path / "RESULTS-copy.md").read_text()
    assert json.loads((tmp_path / "benchmark.json").read_text())


def test_an_interrupted_run_is_kept_and_replaces_no_complete_one(tmp_path: Path) -> None:
    complete, broken = made_up(), made_up()
    broken.interrupted = True
    report.save(complete, tmp_path)
    report.save(broken, tmp_path)
    assert [run.interrupted for run in report.collect(tmp_path)] == [False]
    (tmp_path / "post-stall.json").unlink()
    assert [run.interrupted for run in report.collect(tmp_path)] == [True]


def test_nothing_measured_is_still_a_report() -> None:
    run = Run("wan", "Far", "make bench SCENARIO=wan", "2026-01-02T03:04:05Z", machine=MACHINE, skipped="needs root")
    assert "wan: skipped: needs root" in report.text(run)
    assert "Skipped: needs root." in report.markdown(run)


def entry(client: str, forks: int = 2, rounds: int = 10, faster: float = 2.0) -> dict[str, Any]:
    values = {"P50": 33.04, "P90": 41.2, "Rate": 25_000.0, "Bytes": 2231.2}
    counters = {
        f"{callers}{whose}{name}": value * (faster if name == "Rate" and not whose else 1)
        for callers in ("one", "many")
        for whose in ("", "Raw")
        for name, value in values.items()
    }
    return {
        "benchmark": "io.github.onewrite.bench.jmh.PostBenchmark.round",
        "forks": forks,
        "warmupIterations": rounds,
        "measurementIterations": rounds,
        "params": {"client": client},
        "secondaryMetrics": {name: {"rawData": [[value] * rounds] * forks} for name, value in counters.items()},
    }


def test_jmh_numbers_become_tables() -> None:
    sections = jmh.tables([entry("onewrite"), entry("raw-netty", faster=1.0)])
    assert [section["title"] for section in sections] == ["POST, one caller", "POST, 50 callers"]
    for section in sections:
        assert section["rows"] == [
            ["raw-netty", "33.0", "41.2", "25000", "1.00", "-", "2231"],
            ["onewrite", "33.0", "41.2", "50000", "2.00", "2.00 to 2.00", "2231"],
            ["raw-netty, again", "33.0", "41.2", "25000", "1.00", "1.00 to 1.00", "2231"],
        ]


def test_the_interval_of_a_median() -> None:
    assert jmh.median_interval(list(range(101))) == (50, 40, 60)
    assert jmh.median_interval([3.0]) == (3.0, 3.0, 3.0)


def test_the_price_of_hooks_is_the_difference() -> None:
    line = {"over": "NIO", "rounds": 9, "micros": 20.0, "bytes": 2700.2, "more_micros": 0.4, "low": -0.1, "high": 0.9}
    none = {**line, "hooks": "none", "more_bytes": 0.0}
    table = jmh.hook_table([none, {**line, "hooks": "listener", "more_bytes": 896.0}])
    assert table["rows"] == [["NIO", "listener", "20.00", "+0.40", "-0.10 to +0.90", "2700", "+896"]]


def test_a_jmh_client_that_failed_is_named() -> None:
    names = ["onewrite", *jmh.LIMITS]
    assert jmh._missing([entry(name) for name in names]) == []
    assert jmh._missing([entry(name) for name in names[:-1]]) == [
        f"No result, JMH's own output says why: {names[-1]}.",
    ]
    source = (BENCH / "jmh/src/main/java/io/github/onewrite/bench/jmh/Poster.java").read_text()
    assert [name for name in names if f'case "{name}"' not in source] == []


@pytest.mark.parametrize(
    ("fields", "why"),
    [({}, None), ({"forks": 0}, "0 forks"), ({"forks": 1}, "1 forks"), ({"rounds": 9}, "fewer than 10 rounds")],
)
def test_jmh_shortcuts_are_not_published(fields: dict[str, int], why: str | None) -> None:
    reason = jmh.shortcut([entry("onewrite", **fields)])
    assert reason is None if why is None else why in (reason or "")
    assert jmh.shortcut([]) == "nothing was measured"
