"""Results over commits: the file they are kept in, and the page that shows them."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from onewrite_bench import __main__ as program
from onewrite_bench.failures import BenchError
from onewrite_bench.report import history, trend
from onewrite_bench.report.history import Point

ROW = "post-stall / python / onewrite / mode tcp / 200 B"


def entries(ratio: float, segments: float = 1.0) -> list[dict[str, Any]]:
    return [
        {"name": f"{ROW} / segments per POST", "unit": "segments", "value": segments},
        {"name": f"{ROW} / p50 of control", "unit": "ratio", "value": ratio, "extra": "x"},
    ]


def main(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["onewrite-bench", *words])
    return program.main()


def test_commits_are_added_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, page = tmp_path / "kept" / "history.jsonl", tmp_path / "page.md"
    for commit, ratio in (("a" * 40, 0.004), ("b" * 40, 0.005), ("a" * 40, 0.006)):
        (tmp_path / "history.json").write_text(json.dumps(entries(ratio)))
        done = main(
            monkeypatch, "history", str(file), "--add", commit, "--date", "2026-11-22T10:00:00Z",
            "--out", str(tmp_path), "--page", str(page),
        )  # fmt: skip
        assert done == 0
    points = history.read(file)
    assert [(point.commit[0], point.values[f"{ROW} / p50 of control"]) for point in points] == [
        ("a", 0.006),
        ("b", 0.005),
    ]
    text = page.read_text()
    assert "2 commits, from aaaaaaaaaa (2026-11-22) to bbbbbbbbbb (2026-11-22)." in text
    assert "| python | onewrite, mode tcp, 200 B | 0.0050 | 0.0060 |" in text
    assert "None of 1 rows takes more segments" in text


def test_the_page_without_history_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(monkeypatch, "history", str(tmp_path / "none"), "--page", str(tmp_path / "page.md")) == 0
    assert "Nothing has been recorded yet." in (tmp_path / "page.md").read_text()


def test_a_file_that_is_no_history_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    file.write_text('{"commit": "a"}\n')
    with pytest.raises(BenchError, match=r"history\.jsonl:1"):
        history.add(file, entries(1), "b", "2026")
    assert file.read_text() == '{"commit": "a"}\n'


def test_plots_are_well_formed_and_within_their_frame() -> None:
    values: list[float | None] = [0.004, None, 0.005, 1.7]
    points = [
        Point(f"{number}abcdef", "2026-01-02", {} if value is None else {f"{ROW} / p50 of control": value})
        for number, value in enumerate(values)
    ]
    text = trend.page(points)
    (plot,) = re.findall(r"<svg.*?</svg>", text)
    root = ET.fromstring(plot)
    width, height = (float(number) for number in root.attrib["viewBox"].split()[2:])
    circles = [(float(one.attrib["cx"]), float(one.attrib["cy"])) for one in root.iter("circle")]
    assert len(circles) == 3
    assert all(0 < x < width and 0 < y < height for x, y in circles)
    assert circles[0][1] > circles[1][1] > circles[2][1], "larger is higher"
    lines = [one.attrib["d"] for one in root.iter("path") if "L" in one.attrib["d"]]
    assert len(lines) == 1, "no line leads over a commit without a value"
    assert "0abcdef" in plot
    assert "\n\n" not in text[text.index("<div") : text.index("</div>")]
    assert "script" not in text


def test_one_commit_is_drawn_too() -> None:
    assert "<circle" in trend.page([Point("abc", "2026-01-02", {f"{ROW} / p50 of control": 0.5})])


def test_more_segments_than_once_are_named() -> None:
    points = [
        Point(commit, "2026", {f"{ROW} / {history.SEGMENTS}": value}) for commit, value in (("a", 1.0), ("b", 2.0))
    ]
    assert "| post-stall | python | onewrite, mode tcp, 200 B | 2.00 | 1.00 |" in trend.page(points)
