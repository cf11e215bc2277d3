"""The rooms of the judge import one way."""

from __future__ import annotations

import ast
from pathlib import Path

import onewrite_conformance

SOURCE = Path(onewrite_conformance.__file__).parent

# Each room, and the rooms that it may import.
MAY_IMPORT = {
    "contract": set[str](),
    "driver": {"contract"},
    "checks": {"contract"},
    "run": {"contract", "driver", "checks"},
    "report": {"contract", "run"},
    "fuzz": {"contract", "driver", "run", "report"},
    "cli": {"contract", "run", "report", "fuzz"},
    "__main__": {"cli"},
    "__init__": set[str](),
}


def imports() -> dict[str, set[str]]:
    """Module → modules of the judge that it imports, at its head or anywhere in it."""
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onewrite_conformance"):
                inner = (node.module or "").partition(".")[2]
                for alias in node.names:
                    whole = f"{inner}.{alias.name}" if inner else alias.name
                    target = next((one for one in (whole, inner) if one and _is_module(one)), "__init__")
                    found[name].add(target)
    return found


def _is_module(name: str) -> bool:
    path = SOURCE / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def test_rooms_import_one_way() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, targets in imports().items()
        for target in targets
        if (room := module.split(".")[0]) != (other := target.split(".")[0])
        and other != "__init__"
        and other not in MAY_IMPORT[room]
    ]
    assert wrong == []
