"""Text for a terminal, a pipe or a log: its width, a line of progress, and output whose reader may be gone."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator

__all__ = ["columns", "counted", "fitted", "print_err", "print_out", "progress", "table", "wrapped"]

IN_A_PIPE = 120
NARROWEST = 20
FIRST = 20  # columns of a table's first, before others are left out for it
ERASE = "\r\x1b[K"


def columns() -> int:
    """COLUMNS, or a terminal's width; a pipe or a log gets long lines."""
    return max(NARROWEST, min(IN_A_PIPE, shutil.get_terminal_size((IN_A_PIPE, 24)).columns))


def fitted(text: str, width: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


def wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Lines as wide as the terminal, indented by `first` and then `rest`."""
    return textwrap.wrap(text, columns(), initial_indent=first, subsequent_indent=first if rest is None else rest)


def table(rows: list[list[str]], align: str, less: tuple[int, ...]) -> list[str]:
    """The cells in columns, each `<` or `>` as `align` says; rows[0] has the titles.

    Where they are wider than the terminal, columns are left out in the order of `less`; then the first is shortened.
    """
    shown, widths = list(range(len(align))), [max(map(len, column)) for column in zip(*rows, strict=True)]
    for at in less:
        if min(FIRST, widths[0]) + sum(widths[one] + 2 for one in shown[1:]) > columns():
            shown.remove(at)
    widths[0] = min(widths[0], columns() - sum(widths[at] + 2 for at in shown[1:]))
    lines = ("  ".join(f"{fitted(row[at], widths[at]):{align[at]}{widths[at]}}" for at in shown) for row in rows)
    return [line.rstrip() for line in lines]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def print_out(text: str) -> None:
    """Print to stdout. A reader that has gone, as `head -1` does, is no error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_err(text: str, end: str = "\n") -> None:
    """Print to stderr, if anybody reads it. What stderr does not take is dropped, or Python would end with status 120."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextlib.contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """One line on a terminal's stderr, which the yielded function replaces; nothing in a pipe or a log."""
    shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def show(line: str) -> None:
        if shown:
            with contextlib.suppress(OSError):
                print(f"{ERASE}{fitted(line, columns() - 1)}", end="", file=sys.stderr, flush=True)

    show(text)
    try:
        yield show
    finally:
        show("")
