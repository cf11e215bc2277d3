"""Records `onewrite check` in a terminal: it finds a stall, and finds none with onewrite. Draws docs/check.svg.

usage: recording.py       exit: 0 drawn, 1 the two runs did not show what they should (nothing is written)

Both commands are run for it, and every line and its time are the run's. Waits are cut to 1.5 s.
"""

# ruff: noqa: E501 - it holds lines of SVG
from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "check.svg"

CLIENT = """\
import sys
import requests

session = requests.Session()
for _ in range(20):
    session.post(sys.argv[1], json={"name": "tea"})
"""
#: The typed commands, and the exit status each must have.
COMMANDS = (
    ("cat client.py", 0),
    ("onewrite check --proxy -- python3 client.py {url}", 1),
    ("onewrite check --proxy -- python3 -m onewrite run client.py {url}", 0),
)
COLUMNS, LONGEST_WAIT_S, TYPING_S = 112, 1.5, 0.04
LINE_PX, CHARACTER_PX, MARGIN_PX = 18, 7.8, 16

STYLE = """
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #e6edf3; white-space: pre }
    .prompt { fill: #7ee787 } .found { fill: #ff7b72 } .ok { fill: #7ee787 } .soft { fill: #9198a1 }
    g { animation: appear 1ms linear both }
    @keyframes appear { from { opacity: 0 } to { opacity: 1 } }
    @media (prefers-reduced-motion: reduce) { g { animation: none } }
"""


@dataclass(frozen=True)
class Line:
    """A line of the terminal, and when it came, in s."""

    at: float
    text: str
    typed: bool = False


def run(command: str, folder: Path, env: dict[str, str]) -> tuple[int, list[tuple[float, str]]]:
    """The exit status, and each line of the output with the seconds until it came."""
    start = time.monotonic()
    with subprocess.Popen(shlex.split(command), cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        lines = [(time.monotonic() - start, line.rstrip()) for line in process.stdout]
    return process.returncode, lines


def record() -> list[Line]:
    """Runs the commands. Raises ValueError when one ends otherwise than it must."""
    venv = ROOT / "docs" / ".venv" / "bin"
    found: list[Line] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "client.py").write_text(CLIENT)
        (folder / "python3").symlink_to(venv / "python")
        env = {key: value for key, value in os.environ.items() if not key.startswith("ONEWRITE_") and not key.lower().endswith("_proxy")}
        env |= {"PATH": f"{venv}:{ROOT / 'cli' / '.venv' / 'bin'}:{env['PATH']}", "PYTHONPATH": str(ROOT / "python" / "src")}
        now = 0.5
        for command, wanted in COMMANDS:
            found.append(Line(now, f"$ {command}", typed=True))
            now += TYPING_S * len(command)
            status, lines = run(command, folder, env)
            if status != wanted:
                raise ValueError(f"{command}: exit status {status}, not {wanted}: " + "\n".join(text for _, text in lines))
            before = 0.0
            for at, text in lines:
                now += min(at - before, LONGEST_WAIT_S)
                before = at
                found += [Line(now, piece) for piece in wrapped(text)]
            now += 1.0
            found.append(Line(now, ""))
    return found


def wrapped(text: str) -> list[str]:
    indent = re.match(r"\s*", text)
    assert indent is not None
    return textwrap.wrap(text, COLUMNS, subsequent_indent=indent[0] + "  ", replace_whitespace=False, break_on_hyphens=False) or [""]


def spans(line: Line) -> str:
    """The text of a line with its colours."""
    # Not every viewer keeps several spaces.
    text = escape(re.sub(r" {2,}", lambda found: "\u00a0" * len(found[0]), line.text.lstrip()))
    if line.typed:
        return f'<tspan class="prompt">$</tspan>{text[1:]}'
    text = re.sub(r"^(OW\d+\s+)(found)", r'\1<tspan class="found">\2</tspan>', text)
    text = re.sub(r"^(OW\d+\s+)(ok)", r'\1<tspan class="ok">\2</tspan>', text)
    return f'<tspan class="soft">{text}</tspan>' if line.text.startswith("   ") else text


def left(line: Line) -> float:
    return MARGIN_PX + (len(line.text) - len(line.text.lstrip())) * CHARACTER_PX


def picture(lines: list[Line]) -> str:
    while lines and not lines[-1].text:
        lines = lines[:-1]
    width = round(COLUMNS * CHARACTER_PX + 2 * MARGIN_PX)
    height = len(lines) * LINE_PX + 2 * MARGIN_PX
    drawn = [
        f'  <g style="animation-delay: {line.at:.2f}s"><text x="{left(line):.1f}" y="{MARGIN_PX + 12 + number * LINE_PX}">{spans(line)}</text></g>'
        for number, line in enumerate(lines)
        if line.text
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title">',
            '  <title id="title">A terminal: onewrite check finds that requests stalls behind a proxy, and finds nothing with onewrite</title>',
            f"  <!-- A real run, recorded and drawn by docs/tools/recording.py. -->\n  <style>{STYLE}  </style>",
            f'  <rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
            *drawn,
            "</svg>\n",
        ]
    )


def main() -> int:
    try:
        lines = record()
    except ValueError as error:
        print(f"nothing was drawn: {error}", file=sys.stderr)
        return 1
    PICTURE.write_text(picture(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
