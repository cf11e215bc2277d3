"""The stall rule, by its table of cases. The judge of the bench, its surveys and the command line tool decide by it."""

from __future__ import annotations

import pytest

from onewrite_lab.stall import control_line, control_stalls, says_nothing, stalls

MS = 1_000_000


@pytest.mark.parametrize(
    ("split_ms", "single_ms", "line_ms", "problem"),
    [
        ([44] * 20, [0.1] * 20, 22, None),
        ([205] * 20, [0.3] * 20, 102.5, None),  # another peer's timer
        ([0.2] * 20, [0.1] * 20, 0.1, "the control did not stall"),
        ([44] * 20, [3] * 20, 22, "the control did not stall"),  # everything is slow, by far less than 20 times
        ([44] * 12 + [0.1] * 8, [0.1] * 20, 22, None),
        ([44] * 11 + [0.1] * 9, [0.1] * 20, 22, "the control stalled in 11 of 20 requests only"),
        ([44] * 20, [0.1] * 12 + [30] * 8, 22, None),
        ([44] * 20, [0.1] * 11 + [30] * 9, 22, "too noisy"),
    ],
)
def test_the_line_between_short_and_long(
    split_ms: list[float], single_ms: list[float], line_ms: float, problem: str | None
) -> None:
    line_ns, beside, found = control_line([round(one * MS) for one in split_ms], [round(one * MS) for one in single_ms])
    assert (line_ns / MS, found) == (line_ms, problem)
    assert "splits with Nagle on lost" in beside


@pytest.mark.parametrize(
    ("share", "good", "verdict"),
    [
        (0.0, 0.0, False),
        (1.0, 0.0, True),
        (0.30, 0.0, False),
        (0.31, 0.0, True),
        (0.35, 0.10, False),  # as often as the machine makes a good client late, and a margin
        (0.41, 0.10, True),
    ],
)
def test_a_share_is_held_against_the_good_controls(share: float, good: float, verdict: bool) -> None:
    assert stalls(share, good) is verdict


def test_the_edges_of_the_controls() -> None:
    assert (control_stalls(0.6), control_stalls(0.59)) == (True, False)
    assert (says_nothing(0.3), says_nothing(0.31)) == (False, True)
