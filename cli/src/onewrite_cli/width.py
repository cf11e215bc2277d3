"""How wide a report may be, and text cut to a width."""

from __future__ import annotations

import shutil

__all__ = ["columns", "fitted"]

IN_A_PIPE = 120
NARROWEST = 40


def columns() -> int:
    """COLUMNS, or a terminal's width; a pipe or a log gets long lines."""
    return max(NARROWEST, min(IN_A_PIPE, shutil.get_terminal_size((IN_A_PIPE, 24)).columns))


def fitted(text: str, width: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"
