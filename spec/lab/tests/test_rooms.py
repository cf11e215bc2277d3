"""The lab imports none of the programs that are built on it."""

from __future__ import annotations

import ast
from pathlib import Path

import onewrite_lab

SOURCE = Path(onewrite_lab.__file__).parent


def test_it_imports_no_other_part() -> None:
    imported = {
        name
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        if name.startswith("onewrite")
    }
    assert imported
    assert {name.partition(".")[0] for name in imported} == {"onewrite_lab"}
