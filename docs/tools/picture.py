"""Draws docs/results.svg, the picture of the root README: what a POST costs in clients that stall, stock and with onewrite.

usage: picture.py [--check]      exit: 0 drawn or current, 1 stale (with --check)

Every figure comes from a table that a command measured: do-i-have-it.md (`make -C bench/surveys victims`) and
bench/DEMO.md (`make -C bench demo-table`). A client whose cure is not onewrite is not drawn.
"""

# ruff: noqa: E501 - it holds lines of SVG
from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "results.svg"
SURVEY, DEMO = ROOT / "docs" / "do-i-have-it.md", ROOT / "bench" / "DEMO.md"

LEFT, RIGHT, BAR, GAP, TOP, WIDTH = 290, 660, 13, 15, 66, 760
#: Milliseconds at the right end of the axis, and where it has lines.
HIGHEST, LINES = 50, (0, 10, 20, 30, 40)

STYLE = """
    .page { fill: #ffffff } text { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #d1d9e0; stroke-width: 1 }
    .stock { fill: #cf222e } .onewrite { fill: #1a7f37 } .value { font-size: 12px }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 } text { fill: #f0f6fc } .soft { fill: #9198a1 } .grid { stroke: #3d444d }
      .stock { fill: #f85149 } .onewrite { fill: #3fb950 }
    }
"""


@dataclass(frozen=True)
class Bars:
    """A client, when it stalls, and its median times in ms."""

    client: str
    condition: str
    stock: float
    onewrite: float


#: (library, condition) of the survey's rows that are drawn, and their text in the picture.
ROWS = {
    ("requests", "`HTTP_PROXY` is set"): ("Python requests", "HTTP_PROXY is set"),
    ("sentry-sdk", "`keep_alive=True`"): ("Python sentry-sdk", "keep_alive=True"),
    ("excon", "`request_block:`"): ("Ruby excon", "streamed body"),
    ("axios", "stream over https"): ("Node axios", "stream over https"),
    ("OkHttp", "body of 20,000 bytes"): ("Java OkHttp", "body of 20 kB"),
}
LEGACY = ("Ruby Net::HTTP", "JRuby 1.7")


def rows(text: str) -> list[list[str]]:
    """The cells of every table row of a page."""
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def milliseconds(cell: str) -> float:
    found = re.search(r"([\d.]+) ms", cell)
    if found is None:
        raise ValueError(f"no time in {cell!r}")
    return float(found[1])


def measured(survey: str, demo: str) -> list[Bars]:
    """The clients to draw, in the order of ROWS."""
    table = {(row[0], row[2]): row for row in rows(survey) if len(row) == 8}
    cured = [(ROWS[key], table[key]) for key in ROWS if key in table and "onewrite" in table[key][5]]
    found = [Bars(*text, milliseconds(row[3]), milliseconds(row[6])) for text, row in cured]
    medians = {row[1]: float(row[3]) for row in rows(demo) if row[0] == "ruby" and row[2] == "http-buffer-request"}
    found.insert(2, Bars(*LEGACY, medians["stock on JRuby 1.7"], medians["onewrite on JRuby 1.7"]))
    return found


def x(ms: float) -> float:
    return LEFT + min(ms / HIGHEST, 1.0) * (RIGHT - LEFT)


def picture(survey: str, demo: str) -> str:
    parts: list[str] = []
    y, found = TOP, measured(survey, demo)
    for one in found:
        parts.append(
            f'<text x="{LEFT - 12}" y="{y + 11}" text-anchor="end" font-weight="600">{escape(one.client)}</text>'
            f'<text class="soft value" x="{LEFT - 12}" y="{y + 26}" text-anchor="end">{escape(one.condition)}</text>'
        )
        for kind, ms in (("stock", one.stock), ("onewrite", one.onewrite)):
            parts.append(
                f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{max(x(ms) - LEFT, 2):.1f}" height="{BAR}" rx="2"/>'
                f'<text class="value" x="{x(ms) + 7:.1f}" y="{y + BAR - 2}">{ms:.1f} ms</text>'
            )
            y += BAR + 2
        y += GAP
    bottom = y - GAP + 6
    axis = [
        f'<line class="grid" x1="{x(ms):.1f}" y1="{TOP - 8}" x2="{x(ms):.1f}" y2="{bottom}"/>'
        f'<text class="soft value" x="{x(ms):.1f}" y="{bottom + 16}" text-anchor="middle">{ms} ms</text>'
        for ms in LINES
    ]
    legend, at = [], LEFT
    for kind, words in (("stock", "stock client"), ("onewrite", "the same client with onewrite")):
        legend.append(
            f'<rect class="{kind}" x="{at}" y="36" width="12" height="12" rx="2"/><text class="value" x="{at + 18}" y="46">{words}</text>'
        )
        at += 40 + 7 * len(words)
    height = bottom + 28
    said = "; ".join(f"{one.client}, {one.condition}: {one.stock:.1f} and {one.onewrite:.1f} ms" for one in found)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-labelledby="title desc"'
            ' font-family="system-ui, sans-serif" font-size="14">',
            '  <title id="title">Median time of a POST in clients that stall today, stock and with onewrite</title>',
            f'  <desc id="desc">{escape(said)}.</desc>',
            f"  <!-- Drawn by docs/tools/picture.py from docs/do-i-have-it.md and bench/DEMO.md. -->\n  <style>{STYLE}  </style>",
            f'  <rect class="page" width="{WIDTH}" height="{height:.0f}" rx="6"/>',
            '  <text x="24" y="22" font-weight="600">Median time of a POST on a kept-alive connection to a fast server</text>',
            *(f"  {part}" for part in (*legend, *axis, *parts)),
            "</svg>\n",
        ]
    )


def main(check: bool) -> int:
    wanted = picture(SURVEY.read_text(encoding="utf-8"), DEMO.read_text(encoding="utf-8"))
    if PICTURE.is_file() and wanted == PICTURE.read_text(encoding="utf-8"):
        return 0
    if check:
        print("docs/results.svg is stale: make -C docs generate", file=sys.stderr)
        return 1
    PICTURE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
