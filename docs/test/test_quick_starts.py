"""The quick starts of docs/quick-start.md run as they stand, send one segment per POST, and print a timing line."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest
from snippets import LINE, ROOT, TIMES, run

USE = (ROOT / "docs" / "quick-start.md").read_text()
STARTS = dict(re.findall(r"^```(\w+)\n(.*?)```", USE, re.DOTALL | re.MULTILINE))
JAVA = """import io.github.onewrite.client.*;

class Recipe {
    public static void main(String[] args) throws Exception {
%s
    }
}
"""


@pytest.mark.parametrize("language", ["python", "ruby", "js", "java"])
def test_quick_start(language: str, tmp_path: Path) -> None:
    code = STARTS[language]
    if language == "java":
        code = JAVA % code
    printed, segments = run("node" if language == "js" else language, code, tmp_path, until=LINE)
    assert statistics.mode(segments) == 1, segments
    assert len(re.findall(LINE, printed)) == TIMES, printed[-2000:]
