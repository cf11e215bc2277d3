"""The matrix of versions: what is counted, what is kept, what the page says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import compatibility

TOOL = Path(compatibility.__file__)
JUNIT = (
    '<testsuites><testsuite name="a"><testcase name="1"/><testcase name="2"><skipped/></testcase>'
    '<testsuite name="inner"><testcase name="3"><failure/></testcase><testcase name="4"><error/></testcase></testsuite>'
    "</testsuite></testsuites>"
)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own for what is kept and the page."""
    monkeypatch.setattr(compatibility, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(compatibility, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(compatibility, "REPORTS", tmp_path / "compatibility")
    (tmp_path / "page.md").write_text(f"# Versions\n{compatibility.BEGIN}old\n{compatibility.END}rest\n")
    return tmp_path


def main(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["compatibility.py", *words])
    return compatibility.main()


def run(monkeypatch: pytest.MonkeyPatch, tmp: Path, script: str, cell: str = "3.10 urllib3<2", base: str = "urllib3=1.26.0") -> int:
    return main(
        monkeypatch, "run", "python", "--by", "make matrix", "--cell", cell, "--runtime", "CPython=3.10.1", "--base", base,
        "--with", "requests=2.1", "--junit", str(tmp / "made-*.xml"), "--", sys.executable, "-c", script,
    )  # fmt: skip


def writes(tmp: Path, junit: str, status: int = 0) -> str:
    return f"import pathlib, sys; pathlib.Path({str(tmp / 'made-1.xml')!r}).write_text({junit!r}); sys.exit({status})"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_run_is_counted_and_its_exit_status_passed_on(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, kept, writes(kept, JUNIT, 5)) == 5
    (line,) = lines(kept / "compatibility" / "python.jsonl")
    assert (line["passed"], line["failed"], line["skipped"], line["exit"]) == (1, 2, 1, 5)
    assert (line["runtime"], line["base"], line["with"]) == (
        ["CPython", "3.10.1", "3.10.1"], ["urllib3", "1.26.0"], {"requests": "2.1"},
    )  # fmt: skip


def test_a_run_that_breaks_off_is_not_counted_by_the_report_before(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (kept / "made-1.xml").write_text(JUNIT)
    assert run(monkeypatch, kept, "import sys; sys.exit(3)") == 3
    (line,) = lines(kept / "compatibility" / "python.jsonl")
    assert (line["passed"], line["exit"]) == (0, 3)
    assert compatibility.shown([line]) == "**broke off**"


def test_a_cell_replaces_its_own_last_run_and_a_whole_run_drops_the_rest(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = JUNIT.replace("<failure/>", "").replace("<error/>", "")
    run(monkeypatch, kept, writes(kept, JUNIT, 1))
    run(monkeypatch, kept, writes(kept, good), cell="3.10 urllib3", base="urllib3=2.8.0")
    assert main(monkeypatch, "collect", "python") == 0
    assert "**2 of 3 failed**" in (kept / "page.md").read_text()
    assert main(monkeypatch, "forget", "python", "--by", "make matrix") == 0
    run(monkeypatch, kept, writes(kept, good))
    assert main(monkeypatch, "collect", "python") == 0
    assert [line["base"][1] for line in lines(kept / "kept" / "python.jsonl")] == ["1.26.0", "2.8.0"]
    page = (kept / "page.md").read_text()
    assert "| urllib3 1.26.0 (requests 2.1) | 3, 1 skipped |" in page
    assert "failed" not in page
    assert main(monkeypatch, "collect", "python", "--whole", "make matrix") == 0
    assert [line["base"][1] for line in lines(kept / "kept" / "python.jsonl")] == ["1.26.0"]


def test_a_page_that_is_not_what_was_recorded_fails(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, kept, writes(kept, JUNIT, 1))
    main(monkeypatch, "collect", "python")
    assert main(monkeypatch, "render", "--check") == 0
    (kept / "page.md").write_text((kept / "page.md").read_text().replace("2 of 3", "1 of 3"))
    assert main(monkeypatch, "render", "--check") == 1
    assert main(monkeypatch, "render") == 0
    file = kept / "kept" / "python.jsonl"
    file.write_text(file.read_text() * 2)
    assert main(monkeypatch, "render", "--check") == 1, "a cell that stands twice"
    file.write_text('{"cell": "typed"}\n')
    assert main(monkeypatch, "render", "--check") == 1, "a line that no run made"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (">=1.26,<3", [("1.26", "3")]),
        (">=7.29.1 <8 || >=8.10.1 <9", [("7.29.1", "8"), ("8.10.1", "9")]),
        (">= 2.5", [("2.5", None)]),
        ("^1.9.0", [("1.9.0", "2")]),
    ],
)
def test_ranges_as_the_registries_write_them(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert list(compatibility.ranges(text)) == expected


def test_the_ends_of_a_range_are_what_ran_or_not_run() -> None:
    def line(number: str, failed: int = 0) -> compatibility.Line:
        return {"base": ["undici", number], "with": {}, "runtime": ["Node", "22.1.0", "22.1.0"], "passed": 1, "failed": failed, "exit": 0}

    found = list(compatibility.ends("undici", ">=7.29.1 <8 || >=8.10.1 <9", [line("7.29.1"), line("7.30.2", 1), line("8.12.4")]))
    assert found == [
        "7.29.1 or later, below 8 | 7.29.1 | 7.30.2, **failed**",
        "8.10.1 or later, below 9 | 8.10.1: not run; 8.12.4 | 8.12.4",
    ]
    assert list(compatibility.ends("runtime", ">=20", [])) == ["20 or later | not run | not run"]


def test_every_declared_range_is_found() -> None:
    declared = compatibility.declared()
    assert set(declared) == set(compatibility.LANGUAGES)
    assert {"urllib3", "httpx", "httpx2", "opentelemetry-api"} <= {name for name, *_ in declared["python"]}
    for ranges in declared.values():
        assert all(list(compatibility.ranges(text)) for _, text, _ in ranges), ranges


def test_it_runs_by_itself() -> None:
    done = subprocess.run([str(TOOL), "render", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
