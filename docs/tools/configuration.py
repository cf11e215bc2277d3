# ruff: noqa: E501 - it holds the prose of a page
"""Writes docs/configuration.md from spec/config.yaml.

usage: configuration.py [--check]      exit with --check: 0 up to date, 1 stale
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "spec" / "config.yaml"
TARGET = ROOT / "docs" / "configuration.md"
LANGUAGES = {"python": "Python", "ruby": "Ruby", "node": "Node", "java": "Java"}

HEAD = """<!-- Written by docs/tools/configuration.py from spec/config.yaml: change it there, then `make -C docs generate`. -->
# Configuration

Every option of the four adapters: its default, its environment variable, its name in code.

- What wins: code, then the Java system property, then the environment, then the default.
- A boolean is on when the value is `true`, in any case. Empty is the same as unset. A value that makes no sense is ignored, with one warning.
- The environment is read once, when the adapter is loaded or installed. Change it and restart.
- Set nothing and both measures are on, QUICKACK is off, and hooks cost nothing until you set one.
- In code: Python `onewrite.PoolManager(…)`, `onewrite.install(…)` and `onewrite.requests.Adapter(…)` take them as keywords; Ruby `Onewrite.configure(…)`;
  Node `new Agent({…})`, `install({…})` and `new HttpAgent({…})`; Java `OnewriteClient.builder()` has a method for each. More in each adapter's README: [Python](../python/README.md#configuration) ·
  [Ruby](../ruby/README.md#configuration) · [Node](../node/README.md#configuration) · [Java](../java/README.md#configuration).

| option | default | environment |
|---|---|---|
"""

INCIDENT = """## When something looks wrong

Bisect with the environment alone, no release needed. Each step needs a restart and gives one measure back to the base library:

1. `ONEWRITE_HOOKS_DISABLED=true`: are the hooks the cause?
2. `ONEWRITE_COALESCE_DISABLED=true`: is it the joined write?
3. `ONEWRITE_NODELAY_DISABLED=true`: is it TCP_NODELAY?
4. `ONEWRITE_DISABLED=true`: everything is the stock library's. If it still happens, it is not onewrite.
"""


def spell(value: Any, unit: str | None = None) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" + (f" {unit}" if unit else "")


def section(option: dict[str, Any]) -> str:
    kind = option["type"]
    if option.get("unit"):
        kind += f", {option['unit']}"
    if "min" in option:
        kind += f", {option['min']} to {option['max']}"
    code = [f"{label} `{option['code'][key]}`" for key, label in LANGUAGES.items() if option["code"].get(key)]
    without = [label for key, label in LANGUAGES.items() if not option["code"].get(key)]
    lines = [
        f"## {option['name']}\n",
        f"{option['means'][0].upper()}{option['means'][1:]}.\n",
        "| | |",
        "|---|---|",
        f"| default | {spell(option['default'], option.get('unit'))} |",
        f"| type | {kind} |",
        f"| environment | `{option['env']}` |",
        f"| Java system property | `{option['property']}` |",
        f"| in code | {' · '.join(code)}{' (not in ' + ', '.join(without) + ')' if without else ''} |",
        f"| since | {option['since']} |\n",
    ]
    return "\n".join(lines)


def page() -> str:
    options = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))["options"]
    rows = "".join(
        f"| [{o['name']}](#{o['name']}) | {spell(o['default'], o.get('unit'))} | `{o['env']}` |\n" for o in options
    )
    return HEAD + rows + "\n" + "\n".join(section(option) for option in options) + "\n" + INCIDENT


def main() -> int:
    text = page()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TARGET.relative_to(ROOT)} is stale: run `make -C docs generate`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
