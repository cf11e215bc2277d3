# ruff: noqa: E501 - it holds the prose of a page
"""Writes docs/configuration.md, and the options table in each adapter's README, from spec/config.yaml.

usage: configuration.py [--check]      exit with --check: 0 up to date, 1 stale
A README holds its table between `<!-- options:begin -->` and `<!-- options:end -->`.
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
#: What an option's name in code is in that language, as the head of the README's first column.
CODE = {"python": "keyword", "ruby": "code", "node": "option", "java": "`OnewriteConfig`"}
BEGIN, END = "<!-- options:begin -->\n", "<!-- options:end -->\n"

HEAD = """<!-- Written by docs/tools/configuration.py from spec/config.yaml: change it there, then `make -C docs generate`. -->
# Configuration

This page lists every option of the four adapters: its default, its environment variable, its name in code.

- Code has precedence over the Java system property, then the environment, then the default.
- `1`, `true`, `yes` and `on` are true, `0`, `false`, `no` and `off` are false, in any case. Empty means unset. An invalid value is ignored, with one warning.
- The environment is read once, when the adapter is loaded or installed. Change it and restart.
- By default one write and TCP_NODELAY are on, and QUICKACK is off. Hooks cost nothing until you set one.

| language | in code | more |
|---|---|---|
| Python | keywords of `onewrite.PoolManager(…)`, `onewrite.install(…)`, `onewrite.requests.Adapter(…)` | [README](../python/README.md#configuration) |
| Ruby | `Onewrite.configure(…)` | [README](../ruby/README.md#configuration) |
| Node | `new Agent({…})`, `install({…})`, `new HttpAgent({…})` | [README](../node/README.md#configuration) |
| Java | `config(OnewriteConfig.defaults().withDisabled(true))` on the builder of the client and on each customizer | [README](../java/README.md#configuration) |

| option | default | environment |
|---|---|---|
"""

INCIDENT = """## When something looks wrong

Isolate the cause with environment variables, without a release. Each step needs a restart, and adds one variable to those of the steps before:

1. `ONEWRITE_HOOKS_DISABLED=true`: are the hooks the cause?
2. `ONEWRITE_COALESCE_DISABLED=true`: is the joined write the cause?
3. `ONEWRITE_NODELAY_DISABLED=true`: is TCP_NODELAY the cause?
4. `ONEWRITE_DISABLED=true`: everything is stock. If the fault remains, onewrite is not its cause.
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


def options() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))["options"]
    return found


def page() -> str:
    rows = "".join(
        f"| [{o['name']}](#{o['name']}) | {spell(o['default'], o.get('unit'))} | `{o['env']}` |\n" for o in options()
    )
    return HEAD + rows + "\n" + "\n".join(section(option) for option in options()) + "\n" + INCIDENT


def readme_table(language: str) -> str:
    """The options of one adapter. One that has no name in code there is shown if the environment alone sets it."""
    java = language == "java"
    head = [CODE[language], *(["system property"] if java else []), "environment", "default", "meaning"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for one in options():
        code = one["code"][language]
        if code is None and one["name"] != "disabled":
            continue
        limits = f", {one['min']} to {one['max']}" if "min" in one else ""
        cells = [f"`{code}`" if code else "", *([f"`{one['property']}`"] if java else []), f"`{one['env']}`",
                 spell(one["default"], one.get("unit")) + limits, one["means"]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def readme(language: str) -> tuple[Path, str]:
    """An adapter's README, and what it should hold. Raises ValueError where the marks are not there exactly once."""
    path = ROOT / language / "README.md"
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        raise ValueError(f"{path.relative_to(ROOT)} must hold {BEGIN.strip()} and {END.strip()} once each, in this order")
    before, rest = text.split(BEGIN)
    made = "<!-- made by docs/tools/configuration.py from spec/config.yaml -->\n\n"
    return path, f"{before}{BEGIN}{made}{readme_table(language)}{END}{rest.split(END)[1]}"


def wanted() -> dict[Path, str]:
    """Every file written here, with the text it should have."""
    return {TARGET: page(), **dict(readme(language) for language in LANGUAGES)}


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = [path for path, text in wanted().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is stale: run `make -C docs generate`", file=sys.stderr)
        else:
            path.write_text(wanted()[path], encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
