"""The stall rule, by its table of cases. The bench, its gate and the command decide by it."""

from __future__ import annotations

import pytest

from onewrite_lab.stall import control_line, control_stalls, is_clean, late_line, modes, word

MS = 1_000_000


@pytest.mark.parametrize(
    ("split_ms", "single_ms", "line_ms", "problem"),
    [
        ([44] * 20, [0.1] * 20, 22.05, None),
        ([205] * 20, [0.3] * 20, 102.65, None),  # another peer's timer
        ([0.2] * 20, [0.1] * 20, 0.15, "the control did not stall"),
        ([44] * 20, [3] * 20, 23.5, "the control did not stall"),  # everything is slow, by far less than 20 times
        ([44] * 12 + [0.1] * 8, [0.1] * 20, 22.05, None),
        ([44] * 11 + [0.1] * 9, [0.1] * 20, 22.05, "the control stalled in 11 of 20 requests only"),
        ([44] * 20, [0.1] * 19 + [30], 22.05, None),
        (
            [44] * 20,
            [0.1] * 18 + [30] * 2,
            22.05,
            "the machine is too busy: 2 of 20 requests of the raw socket were late",
        ),
    ],
)
def test_the_line_between_short_and_long(
    split_ms: list[float], single_ms: list[float], line_ms: float, problem: str | None
) -> None:
    line_ns, beside, found = control_line([round(one * MS) for one in split_ms], [round(one * MS) for one in single_ms])
    assert line_ns / MS == pytest.approx(line_ms)
    assert found == problem
    assert "splits with Nagle on lost" in beside


@pytest.mark.parametrize(
    ("late", "of", "expected"),
    [(0, 20, "clean"), (1, 5, "clean"), (3, 60, "clean"), (4, 60, "mixed"), (35, 60, "mixed"), (36, 60, "stalls")],
)
def test_the_share_of_late_requests_decides(late: int, of: int, expected: str) -> None:
    assert word(late, of) == expected
    assert is_clean(late, of) is (expected == "clean")
    assert control_stalls(late, of) is (expected == "stalls")


def test_a_client_without_requests_shows_nothing() -> None:
    assert not control_stalls(0, 0)


def test_a_wait_below_the_least_moves_no_line() -> None:
    """Where the control does not stall, half of the least stands in: a client is not late by a fraction of a millisecond."""
    assert late_line(0.4, 0.2, least=30) == 15.2
    assert late_line(322, 161, least=30) == 241.5


def test_a_mixed_client_has_two_modes() -> None:
    assert modes([1, 2, 3, 40, 42, 44], 21) == (2, 42)
    assert modes([1, 2, 3], 21) == (2, None)
