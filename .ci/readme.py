"""Draws docs/results.svg, the picture of the root README, from bench/DEMO.md. `--check` only tells whether it is stale.

usage: python3 .ci/readme.py [--check]
One group of bars per language, on one logarithmic axis: the control (two writes, Nagle on), the stock library, and
onewrite, behind the HAProxy frontend that buffers requests; and today's victims, stock and cured.
"""

from __future__ import annotations

# ruff: noqa: E501 - it holds lines of SVG
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "results.svg"
FRONTEND = "http-buffer-request"
NAMES = {"python": "Python, urllib3", "ruby": "Ruby, Net::HTTP", "node": "Node, undici", "java": "Java, Netty"}
#: Groups of today's victims: a title, and the clients of DEMO.md that are its bars.
VICTIMS = [
    ("requests, HTTP_PROXY set", "python", "forward proxy", ("stock requests", "onewrite requests")),
    ("Net::HTTP of Ruby 2.0", "ruby", FRONTEND, ("stock net/http 2.0", "onewrite on 2.0")),
]
#: Milliseconds at the left and the right end of the axis, and where it has lines.
LOWEST, HIGHEST, LINES = 0.05, 100.0, (0.1, 1, 10, 44)
LEFT, RIGHT, BAR, GAP, TOP = 215, 660, 15, 14, 62

STYLE = """
    .page { fill: #ffffff } text { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #d1d9e0; stroke-width: 1 }
    .control { fill: #cf222e } .stock { fill: #8c959f } .onewrite { fill: #1a7f37 } .value { font-size: 12px }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 } text { fill: #f0f6fc } .soft { fill: #9198a1 } .grid { stroke: #3d444d }
      .control { fill: #f85149 } .stock { fill: #656c76 } .onewrite { fill: #3fb950 }
    }
"""


def table(demo: str) -> dict[tuple[str, str, str], float]:
    """p50 in ms by (language, client, frontend)."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in demo.splitlines() if line.startswith("|")]
    return {(row[0], row[1], row[2]): float(row[3]) for row in rows[2:]}


def x(ms: float) -> float:
    share = (math.log10(ms) - math.log10(LOWEST)) / (math.log10(HIGHEST) - math.log10(LOWEST))
    return LEFT + max(share, 0.0) * (RIGHT - LEFT)


def groups(found: dict[tuple[str, str, str], float]) -> list[tuple[str, list[tuple[str, str, float]]]]:
    """(title, [(class, label, p50 in ms)]) of every group, in the order in which they are drawn."""
    made = [
        (title, [(one, one, found[language, one, FRONTEND]) for one in ("control", "stock", "onewrite")])
        for language, title in NAMES.items()
    ]
    for title, language, frontend, (stock, cured) in VICTIMS:
        bars = [
            ("control", "stock", found[language, stock, frontend]),
            ("onewrite", "onewrite", found[language, cured, frontend]),
        ]
        made.append((title, bars))
    return made


def picture(demo: str) -> str:
    parts: list[str] = []
    y = TOP
    for title, bars in groups(table(demo)):
        middle = y + len(bars) * (BAR + 2) / 2 + 4
        parts.append(f'<text x="{LEFT - 12}" y="{middle:.0f}" text-anchor="end">{title}</text>')
        for kind, label, ms in bars:
            parts.append(
                f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{x(ms) - LEFT:.1f}" height="{BAR}" rx="2">'
                f"<title>{title}, {label}: {ms} ms</title></rect>"
                f'<text class="value" x="{x(ms) + 6:.1f}" y="{y + BAR - 3}">{ms:g} ms</text>'
            )
            y += BAR + 2
        y += GAP
    bottom = y - GAP + 6
    axis = [
        f'<line class="grid" x1="{x(ms):.1f}" y1="{TOP - 8}" x2="{x(ms):.1f}" y2="{bottom}"/>'
        f'<text class="soft value" x="{x(ms):.1f}" y="{bottom + 16}" text-anchor="middle">{ms:g} ms</text>'
        for ms in LINES
    ]
    legend, at = [], LEFT
    for kind, words in (("control", "two writes, Nagle on"), ("stock", "stock library"), ("onewrite", "onewrite")):
        legend.append(
            f'<rect class="{kind}" x="{at}" y="34" width="12" height="12" rx="2"/><text class="value" x="{at + 18}" y="44">{words}</text>'
        )
        at += 40 + 7 * len(words)
    height = bottom + 28
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height:.0f}" role="img" aria-labelledby="title desc"'
            ' font-family="system-ui, sans-serif" font-size="14">',
            '  <title id="title">A 200-byte POST behind HAProxy: median time</title>',
            '  <desc id="desc">With two writes and Nagle on a POST takes 44 ms in every language; with onewrite under 3 ms.</desc>',
            f"  <!-- Drawn by .ci/readme.py from bench/DEMO.md. -->\n  <style>{STYLE}  </style>",
            f'  <rect class="page" width="760" height="{height:.0f}" rx="6"/>',
            '  <text x="24" y="22" font-weight="600">Median time of a 200-byte POST behind a real proxy (logarithmic)</text>',
            *(f"  {part}" for part in (*legend, *axis, *parts)),
            "</svg>\n",
        ]
    )


def main(check: bool) -> int:
    wanted = picture((ROOT / "bench/DEMO.md").read_text())
    if PICTURE.is_file() and wanted == PICTURE.read_text():
        return 0
    if check:
        print("docs/results.svg does not show what bench/DEMO.md holds: run python3 .ci/readme.py", file=sys.stderr)
        return 1
    PICTURE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
