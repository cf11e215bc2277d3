"""Every form of the report, from a run that is made up here, also with missing results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import REPOSITORY
from onewrite_bench.report import costs, pages, table
from onewrite_bench.report import write as report
from onewrite_bench.verdict.results import Cell, Run, Verdict

MACHINE = {
    "system": "Linux", "kernel": "6.1", "architecture": "x86_64", "cpu": "A <CPU>", "cores": 2, "load_average": 0.5,
    "haproxy": "2.6", "python": "3.11", "onewrite": "0.1.0", "commit": "0123abcd",
}  # fmt: skip


def cell(client: str, role: str, us: int, **fields: Any) -> Cell:
    made = Cell("python", "python", client, role, "buffered", stalls=True)
    made.rounds_us = [[us + 100 * number + n for n in range(12)] for number in range(5)]
    made.segments = [[20, 20]]
    made.connections = 1
    made.base = "urllib3 2, CPython 3"
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def made_up(scenario: str = "post-stall") -> Run:
    run = Run(scenario, "Title & more", f"make bench SCENARIO={scenario}", "2026-01-02T03:04:05Z", 12.3, "A story.")
    run.machine = MACHINE
    run.cells = [
        cell("control", "control", 44_000, segments=[[40, 20]], bare_connections=1),
        cell("onewrite", "adapter", 200),
        cell("raw socket", "reference", 100),
        Cell("ruby", "ruby", "onewrite", "adapter", "buffered", True, missing="no ruby/driver/run"),
    ]
    run.verdicts = [
        Verdict("python", "clean", "control p50 44 ms, adapter 0.2 ms"),
        Verdict("ruby", "not run", "no ruby/driver/run"),
    ]
    return run


def test_text_and_markdown_have_the_same_figures() -> None:
    text = report.text(made_up())
    assert "python: clean: control p50 44 ms, adapter 0.2 ms" in text
    assert "ruby: not run: no ruby/driver/run" in text
    lines = report.markdown(made_up()).splitlines()
    assert "| client | control | onewrite | segments |" in lines
    assert "| python | **44.2±0.2** | 0.4±0.2 | 2/1 |" in lines
    assert "| ruby | - | not run | -/- |" in lines
    assert "- ruby: not run: no ruby/driver/run" in lines


def test_a_table_has_its_origin() -> None:
    (line,) = [line for line in report.markdown(made_up()).splitlines() if line.startswith("n = ")]
    assert line == "n = 60 in 5 rounds; 1 of 2 adapters clean; commit 0123abcd, 2026-01-02, load average 0.5."


def shown(adapter: list[list[int]]) -> str:
    """The adapter's cell beside a control that stalls."""
    run = made_up()
    run.cells[1].rounds_us = adapter
    return table.of_cells(run.cells[:3]).rows[0][2]


def test_a_cell_between_clean_and_stalled_shows_both_modes() -> None:
    assert shown([[300] * 57 + [42_000] * 3]) == "0.3±0.0, 5% late"
    assert shown([[300] * 56 + [42_000] * 4]) == "mixed: 93% at 0.3, 7% at 42.0"
    assert shown([[300] * 25 + [42_000] * 35]) == "mixed: 42% at 0.3, 58% at 42.0"
    assert shown([[300] * 24 + [42_000] * 36]) == "**42.0±0.0**, 60% late"


def test_a_long_table_has_a_row_per_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_ROWS", 1)
    cells = [
        cell("onewrite", "adapter", us, target=str(us), segments=[[us // 10, 10]], stalls=us < 300)
        for us in (100, 200, 300)
    ]
    assert table.of_cells(cells).rows == [
        ["python", "100, 200", "0.3±0.2", "1+"],
        ["python", "300", "0.5±0.2", "3"],
    ]


def result(folder: Path, again: float) -> None:
    folder.mkdir(parents=True)
    rows = [{"name": f"stock again{of}", "ratio": again} for of in ("", ", 20 kB")] + [
        {"name": "onewrite", "ratio": 0.98}
    ]
    raw: dict[str, Any] = {
        "language": folder.parent.name,
        "base": "urllib3 2",
        "runtime": "CPython 3",
        "date": "2026-01-02",
        "command": "make",
    }
    raw |= {"commit": "0123abcd", "rows": [{"min": 0.97, "max": 1.02, "n": 100, **row} for row in rows]}
    (folder / "results.json").write_text(json.dumps(raw))


def test_a_cost_is_written_with_its_error_or_not_at_all(tmp_path: Path) -> None:
    result(tmp_path / "python" / "bench", again=1.01)
    shown, notes = costs.table(tmp_path)
    assert shown.rows == [
        ["python", "urllib3 2, CPython 3", "200 B", "0.98", "-", "-", "±0.01", "100"],
        ["python", "urllib3 2, CPython 3", "20 kB", "-", "-", "-", "±0.01", "100"],
    ]
    assert notes == ["python: `make`, commit 0123abcd, 2026-01-02."]
    result(tmp_path / "node" / "bench", again=0.78)
    (tmp_path / "ruby" / "bench").mkdir(parents=True)
    (tmp_path / "ruby" / "bench" / "results-3.json").write_text('{"rows": []}')
    shown, notes = costs.table(tmp_path)
    assert len(shown.rows) == 2
    assert "urllib3 2, CPython 3, 200 B: too noisy to publish (22%)." in notes
    assert any(note.startswith("ruby/bench/results-3.json cannot be read: KeyError") for note in notes)


def test_each_table_is_on_one_page(tmp_path: Path) -> None:
    for page in dict.fromkeys(pages.PAGES.values()):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / page, tmp_path / page)
    for name in ("post-stall", "writers", "relays"):
        report.save(made_up(name), tmp_path / "bench" / "results")
    result(tmp_path / "python" / "bench", again=1.01)
    before = (tmp_path / "docs" / "proxies.md").read_text()
    assert set(report.publish(check=True, repository=tmp_path)) == {"README.md", "docs/proxies.md", "bench/RESULTS.md"}
    assert (tmp_path / "docs" / "proxies.md").read_text() == before
    report.publish(repository=tmp_path)
    assert report.publish(check=True, repository=tmp_path) == []
    results = (tmp_path / "bench" / "RESULTS.md").read_text()
    assert "## post-stall" in results
    assert "## relays" not in results
    assert "| writers: every way of writing a request | 44.2 | 0.4 | 1 of 2 | 60 | 0123abcd | 2026-01-02 |" in results
    assert "0.4±0.2" in (tmp_path / "docs" / "proxies.md").read_text()


def test_a_page_without_the_block_is_an_error() -> None:
    page = f"before\n{pages.block('cost', '| old |')}\nafter\n"
    assert pages.filled(page, {"cost": "| new |"}) == f"before\n{pages.block('cost', '| new |')}\nafter\n"
    with pytest.raises(BenchError, match="the page has no block relays"):
        pages.filled(page, {"relays": "| new |"})


def test_everything_is_written_and_an_old_result_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    report.save(made_up(), tmp_path)
    (tmp_path / "writers.json").write_text('{"version": 1, "cells": [{"no": "such"}], "verdicts": []}')
    report.write(tmp_path)
    report.step_summary(tmp_path)
    assert "writers.json is ignored, another version made it: version 1" in capsys.readouterr().err
    assert summary.read_text() == (tmp_path / "RESULTS.md").read_text()


def test_nothing_measured_is_still_a_report() -> None:
    run = Run("wan", "Far", "make bench SCENARIO=wan", "2026-01-02T03:04:05Z", machine=MACHINE, skipped="needs root")
    assert "wan: skipped: needs root" in report.text(run)
    assert "Skipped: needs root." in report.markdown(run)
