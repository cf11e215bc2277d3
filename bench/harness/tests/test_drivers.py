"""A driver is built before it is judged, and one that is older than its source is not judged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onewrite_bench import scenario
from onewrite_bench.console import Console
from onewrite_bench.engines import drivers
from onewrite_bench.failures import BenchError
from onewrite_bench.run.execute import execute

MAKEFILE = """driver: driver/target/.built
driver/target/.built: source
\t@grep -q right source || { echo "source:1: does not compile"; exit 1; }
\t@mkdir -p driver/target && touch $@
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A language whose driver is built from one file."""
    folder = tmp_path / "cobol"
    (folder / "driver").mkdir(parents=True)
    (folder / "driver" / "run").write_text("#!/bin/sh\nexit 1\n")
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "source").write_text("right")
    return tmp_path


def test_a_folder_with_a_driver_is_a_language(checkout: Path) -> None:
    (checkout / "docs").mkdir()
    assert drivers.languages(checkout) == ("cobol",)
    assert {"java", "node", "python", "ruby"} <= set(drivers.languages())


def test_a_driver_is_stale_until_it_is_built_again(checkout: Path) -> None:
    drivers.build("cobol", checkout)
    assert drivers.stale("cobol", checkout) is None
    built = (checkout / "cobol" / "driver" / "target" / ".built").stat().st_mtime
    os.utime(checkout / "cobol" / "source", (built + 10, built + 10))
    assert drivers.stale("cobol", checkout) == "the driver is older than its source: make -C cobol driver"
    (checkout / "cobol" / "source").write_text("wrong")
    os.utime(checkout / "cobol" / "source", (built + 10, built + 10))
    with pytest.raises(BenchError, match="source:1: does not compile"):
        drivers.build("cobol", checkout)


def test_what_runs_from_its_source_is_never_stale(checkout: Path) -> None:
    assert drivers.stale("cobol", checkout) is None


def test_with_a_stale_driver_alone_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "stale", lambda language, checkout=None: f"{language} is old")
    run = execute(scenario.load("writers"), Console(quiet=True), "test", ["java"])
    assert {(verdict.state, verdict.text) for verdict in run.verdicts} == {("not run", "java is old")}
    assert run.exit_status == 3
