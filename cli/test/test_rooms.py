"""The rooms: `common` imports no command, and no command imports another."""

from __future__ import annotations

import ast
from pathlib import Path

import onewrite_cli

SOURCE = Path(onewrite_cli.__file__).parent
COMMANDS = {"check", "doctor", "watch"}


def rooms_of(path: Path) -> set[str]:
    """The rooms that a file imports, for a type checker alone too."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in modules if name.startswith("onewrite_cli.")}


def test_each_room_imports_common_and_itself_alone() -> None:
    for room in COMMANDS | {"common"}:
        files = list((SOURCE / room).glob("*.py"))
        assert files
        for file in files:
            assert rooms_of(file) <= {"common", room}, file


def test_only_the_house_itself_is_beside_the_rooms() -> None:
    beside = {path.stem for path in SOURCE.glob("*.py")}
    assert beside == {"__init__", "__main__", "app", "explain", "testing"}


def test_the_lab_is_the_only_other_package() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "onewrite_conformance" not in text
        assert "onewrite_bench" not in text
