"""Figures of the pages: samples print, and a figure has a source."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from onewrite_bench.report import write
from snippets import ROOT, run

sys.path.insert(0, str(ROOT / "docs" / "tools"))

import prose

README = (ROOT / "README.md").read_text(encoding="utf-8")
CURE = README.partition("\n## Cure it\n")[2].partition("\n## ")[0]
CODE, SAMPLE, OBSERVED = re.findall(r"^```\w*\n(.*?)```", CURE, re.DOTALL | re.MULTILINE)
# `run` repeats the last line, so one of the two posts is enough.
CODE = re.sub(r"session\.post.*\n(?=session\.post)", "", CODE)


def form(record: str) -> str:
    """A printed record without its figures and the address."""
    return re.sub(r"\d+(\.\d+)?", "N", re.sub(r"http://\S+", "URL", record)).strip()


def test_the_sample_record_prints(tmp_path: Path) -> None:
    printed, _ = run("python", CODE, tmp_path, until=r"POST \S+ 200")
    assert set(map(form, SAMPLE.splitlines())) <= set(map(form, printed.splitlines())), printed[-1500:]


def test_the_record_of_observe_mode_prints(tmp_path: Path) -> None:
    """Behind a proxy, as the README says: the server that counts segments takes the place of the proxy."""
    printed, _ = run("python", CODE, tmp_path, until=r"POST \S+ 200", proxied=True, more={"ONEWRITE_OBSERVE": "true"})
    assert form(OBSERVED) in set(map(form, printed.splitlines())), printed[-1500:]


#: Figures that a page defines are not measured: the stall (finding-a-stall.md), and an answer too quick for kernel
#: evidence (1 ms). Also the waits that get a cause (20 ms), a late request (30 ms), the buckets around a stall (35, 50 ms).
DEFINED = "(?:1|20|30|35|40|44|48|50|200) ms"
#: A figure of a measurement: a time, a share, a factor.
FIGURE = re.compile(rf"(?<![\w.])(?!{DEFINED})\d[\d.,]* ?(?:ms|µs|%|×)(?!\w)")
#: What names a source: a command, a page or file with results, a standard, an issue, the date of a measurement, a setting.
SOURCE = re.compile(r"`make |bench/|RESULTS\.md|measured|rules|RFC \d|#\d{3}|\d{4}-\d\d-\d\d|`onewrite \w|[Dd]efault|limit|option|within")
#: A requirement of the contract sets its figures; generated pages are results.
PAGES = [page for page in prose.pages() if page.name not in ("RESULTS.md", "COMPLIANCE.md") and ROOT / "spec" not in page.parents]


def sections(text: str) -> list[str]:
    for pattern in (prose.GENERATED, prose.FENCE, prose.COMMENT):
        text = pattern.sub("", text)
    return re.split(r"^(?=#+ )", text, flags=re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_section_with_figures_names_their_source(path: Path) -> None:
    parts = sections(path.read_text(encoding="utf-8"))
    assert {part.partition("\n")[0]: found for part in parts if (found := FIGURE.findall(part)) and not SOURCE.search(part)} == {}


def test_tables_are_those_of_the_results() -> None:
    """`make -C bench publish` writes them."""
    if not any(write.KEPT.glob("*.json")):
        pytest.skip("there are no results yet: make -C bench results")
    assert write.publish(check=True) == []
