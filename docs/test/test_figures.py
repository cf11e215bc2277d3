"""The samples of the README print, and the tables of the pages are those of the results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from onewrite_bench.report import write
from snippets import ROOT, run

README = (ROOT / "README.md").read_text(encoding="utf-8")
CURE = README.partition("\n## Cure it\n")[2].partition("\n## ")[0]
CODE, SAMPLE, OBSERVED = re.findall(r"^```\w*\n(.*?)```", CURE, re.DOTALL | re.MULTILINE)
# `run` repeats the last line, so one of the two posts is enough.
CODE = re.sub(r"session\.post.*\n(?=session\.post)", "", CODE)


def form(record: str) -> str:
    """A printed record without its figures and the address; the wait of a busy machine may have a cause."""
    record = re.sub(r" \((?:client|server):[^)]*\)", "", record)
    return re.sub(r"\d+(\.\d+)?", "N", re.sub(r"http://\S+", "URL", record)).strip()


def test_the_sample_record_prints(tmp_path: Path) -> None:
    printed, _ = run("python", CODE, tmp_path, until=r"POST \S+ 200")
    assert set(map(form, SAMPLE.splitlines())) <= set(map(form, printed.splitlines())), printed[-1500:]


def test_the_record_of_observe_mode_prints(tmp_path: Path) -> None:
    """Behind a proxy, as the README says: the server that counts segments takes the place of the proxy."""
    printed, _ = run("python", CODE, tmp_path, until=r"POST \S+ 200", proxied=True, more={"ONEWRITE_OBSERVE": "true"})
    assert form(OBSERVED) in set(map(form, printed.splitlines())), printed[-1500:]


def test_tables_are_those_of_the_results() -> None:
    """`make -C bench publish` writes them."""
    if not any(write.KEPT.glob("*.json")):
        pytest.skip("there are no results yet: make -C bench results")
    assert write.publish(check=True) == []
