"""The report from a run that is made up here: every form of it, and what it does with what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import bench

from onewrite_bench.failures import BenchError
from onewrite_bench.report import costs, quote, table
from onewrite_bench.report import write as report
from onewrite_bench.report.entries import entries
from onewrite_bench.verdict.results import Cell, Run, Verdict

MACHINE = {
    "system": "Linux", "kernel": "6.1", "architecture": "x86_64", "cpu": "A <CPU>", "cores": 2, "load_average": 0.5,
    "haproxy": "2.6", "python": "3.11", "onewrite": "0.1.0",
}  # fmt: skip


def cell(client: str, role: str, us: int, **fields: Any) -> Cell:
    made = Cell("python", "python", client, role, "buffered", stalls=True)
    made.latencies_us = [us + n for n in range(100)]
    made.segments = [[20, 20]]
    made.connections = 1
    made.base = "urllib3 2, CPython 3"
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def made_up(control: str = "control") -> Run:
    run = Run("post-stall", "Title & more", "make bench SCENARIO=post-stall", "2026-01-02T03:04:05Z", 12.3, "A story.")
    run.machine = MACHINE
    run.cells = [
        cell(control, "control", 44_000, segments=[[40, 20]], bare_connections=1, kind=control),
        cell("onewrite", "adapter", 200),
        cell("raw socket", "reference", 100),
        Cell("ruby", "ruby", "onewrite", "adapter", "buffered", True, missing="no ruby/driver/run"),
    ]
    run.verdicts = [
        Verdict("python", "clean", "control p50 44 ms, adapter 0.2 ms"),
        Verdict("ruby", "not run", "no ruby/driver/run"),
    ]
    return run


def test_text_and_markdown_say_the_same() -> None:
    text = report.text(made_up())
    assert "python: clean: control p50 44 ms, adapter 0.2 ms" in text
    assert "ruby: not run: no ruby/driver/run" in text
    lines = report.markdown(made_up()).splitlines()
    assert "| client | where | control | onewrite | segments | TCP_NODELAY |" in lines
    assert "| python | buffered | **44.0 ms, 100%** | 0.25 ms, 0% | 2/1 | off/on |" in lines
    assert "| ruby | buffered | - | not run | -/- | -/- |" in lines
    assert "1 of 2 adapters are clean." in lines
    assert "- ruby: not run: no ruby/driver/run" in lines
    assert lines[-1] == "`make bench SCENARIO=post-stall`, 2026-01-02, 12 s, load average 0.5 at the start."


def test_a_long_table_has_a_row_per_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_ROWS", 1)
    cells = [cell("onewrite", "adapter", us, target=str(us), segments=[[us // 10, 10]]) for us in (100, 200)]
    assert table.of_cells(cells).rows == [["python", "2 of them", "0.15 to 0.25 ms, 0%", "1-2", "on"]]


def test_the_report_begins_with_the_stock_clients_that_stall(tmp_path: Path) -> None:
    report.save(made_up("stock"), tmp_path)
    report.write(tmp_path, None)
    text = (tmp_path / "RESULTS.md").read_text()
    glance = text[text.index("<!-- glance:begin -->") : text.index("<!-- glance:end -->")]
    assert "| python | buffered | 44.0 ms | 0.25 ms | 100% → 0% | 2 → 1 |" in glance
    assert text.index("glance:begin") < text.index("## post-stall")


def result(folder: Path, again: float) -> None:
    folder.mkdir(parents=True)
    rows = [{"name": f"stock again{of}", "ratio": again} for of in ("", ", 20 kB")] + [
        {"name": "onewrite", "ratio": 0.98}
    ]
    raw = {"language": "python", "base": "urllib3 2", "runtime": "CPython 3", "date": "2026-01-02", "command": "make"}
    raw["rows"] = [{"low": 0.97, "high": 1.02, **row} for row in rows]  # type: ignore[assignment]
    (folder / "results.json").write_text(json.dumps(raw))


def test_a_cost_is_written_with_its_error_or_not_at_all(tmp_path: Path) -> None:
    result(tmp_path / "python" / "bench", again=1.01)
    shown, more, notes = costs.tables(tmp_path)
    assert shown.rows == [
        ["Python, urllib3 2", "200 B", "0.98 (0.97 to 1.02)", "-", "-", "1.01 (0.97 to 1.02)"],
    ]
    assert [row[1] for row in more.rows] == ["20 kB"]
    result(tmp_path / "node" / "bench", again=0.78)
    (tmp_path / "ruby" / "bench").mkdir(parents=True)
    (tmp_path / "ruby" / "bench" / "results.json").write_text('{"rows": []}')
    shown, more, notes = costs.tables(tmp_path)
    assert len(shown.rows) == 1
    assert "Python, urllib3 2, 200 B: not written, stock against stock differs by 22%." in notes
    assert any(note.startswith("ruby/bench/results.json cannot be read: KeyError") for note in notes)


def test_pages_quote_blocks_of_the_results(tmp_path: Path) -> None:
    results = f"x\n\n{quote.block('glance', '| new |')}\n\n{quote.block('wan', '| far |')}\n"
    other = quote.block("options", "| other |")
    page = f"before\n{quote.block('glance', '')}\nafter\n{other}\n"
    assert quote.quoted(page, results) == f"before\n{quote.block('glance', '| new |')}\nafter\n{other}\n"
    with pytest.raises(BenchError, match=r"no block of RESULTS\.md, such as glance, wan"):
        quote.quoted(other, results)


def test_a_page_that_is_out_of_date_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(quote.block("nosuch", "-"))
    done = bench("quote", "--check", str(tmp_path / "page.md"))
    assert (done.returncode, "no block of RESULTS.md" in done.stderr) == (3, True)


def test_entries_are_what_github_action_benchmark_reads() -> None:
    found = entries([made_up()])
    assert [set(entry) - {"extra"} for entry in found] == [{"name", "unit", "value"}] * 2
    assert [(entry["unit"], entry["value"]) for entry in found] == [
        ("segments", 1.0),
        ("ratio", pytest.approx(0.0057, abs=1e-4)),
    ]
    assert found[0]["name"] == "post-stall / python / buffered / 200 B / segments per POST"


def test_everything_is_written_and_an_old_result_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    report.save(made_up(), tmp_path)
    (tmp_path / "burst.json").write_text('{"version": 1, "cells": [{"no": "such"}], "verdicts": []}')
    report.write(tmp_path, tmp_path / "copy.md")
    report.step_summary(tmp_path)
    assert "burst.json is left out, another version made it: version 1" in capsys.readouterr().err
    assert summary.read_text() == (tmp_path / "RESULTS.md").read_text() == (tmp_path / "copy.md").read_text()
    assert json.loads((tmp_path / "entries.json").read_text())


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
