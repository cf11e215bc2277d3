"""The rooms of the harness import one way, and none of them an adapter."""

from __future__ import annotations

import ast
from pathlib import Path

import onewrite_bench

ROOT = Path(onewrite_bench.__file__).parent
MAY_IMPORT = {
    "topology": set(),
    "verdict": set(),
    "engines": {"topology", "verdict"},
    "report": {"verdict"},
    "run": {"topology", "verdict", "engines", "report"},
}
ADAPTERS = {"onewrite", "urllib3", "requests", "httpx"}


def imported(path: Path) -> set[str]:
    """Every module that a file imports, in full."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(str(node.module))
    return found


def test_rooms_import_one_way() -> None:
    rooms = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(MAY_IMPORT)
    for room in rooms:
        for path in (ROOT / room).glob("*.py"):
            used = {name.split(".")[1] for name in imported(path) if name.startswith("onewrite_bench.")}
            wrong = (used & rooms) - MAY_IMPORT[room] - {room}
            assert not wrong, f"{path.relative_to(ROOT)} imports from {wrong}"


def test_nothing_imports_an_adapter() -> None:
    for path in ROOT.rglob("*.py"):
        assert not {name.split(".")[0] for name in imported(path)} & ADAPTERS, path
