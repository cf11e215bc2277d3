"""Fails when classes of the artifacts depend on each other in a circle, within a package too, where nothing is imported."""

from __future__ import annotations

import re
import sys
from pathlib import Path

# A client answers its builder, and the builder makes the client: one API in two files.
MEANT = [{"io.github.onewrite.netty.OnewriteClient", "io.github.onewrite.netty.OnewriteClientBuilder"}]
NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def uses(root: Path) -> dict[str, set[str]]:
    """The classes, one per file, and those of ours that each names."""
    texts = {}
    for path in root.glob("*/src/main/java/**/*.java"):
        if not path.stem.endswith("-info"):
            code = NO_CODE.sub("", path.read_text())
            package = re.search(r"^package ([\w.]+);", code, re.MULTILINE)
            texts[f"{package[1] if package else ''}.{path.stem}"] = code
    found = {}
    for name, code in texts.items():
        imported = {one.rpartition(".")[2]: one for one in re.findall(r"^import ([\w.]+);", code, re.MULTILINE)}
        package = name.rpartition(".")[0]
        named = {imported.get(word, f"{package}.{word}") for word in re.findall(r"\b[A-Z]\w*\b", code)}
        found[name] = (named & texts.keys()) - {name}
    return found


def reach(graph: dict[str, set[str]], start: str) -> set[str]:
    """All that a class depends on, over others."""
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for name in graph[ahead.pop()] - seen:
            seen.add(name)
            ahead.append(name)
    return seen


def main() -> int:
    graph = uses(Path(__file__).parent)
    reached = {name: reach(graph, name) for name in graph}
    circles = {
        frozenset(other for other in reached[name] if name in reached[other]) for name in graph if name in reached[name]
    }
    wrong = [circle for circle in circles if set(circle) not in MEANT]
    for circle in wrong:
        print(f"a circle: {', '.join(sorted(circle))}", file=sys.stderr)
    return 1 if wrong or not graph else 0


if __name__ == "__main__":
    sys.exit(main())
