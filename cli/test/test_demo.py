"""`onewrite demo` shows the stall and its end."""

from __future__ import annotations

import pytest

from conftest import onewrite


def test_it_shows_the_stall_and_its_end() -> None:
    for _ in range(3):
        done = onewrite("demo", "-f", "json", "--requests", "20")
        if done.status == 0:
            break
    assert done.status == 0, done.out
    assert done.data["two_writes_ms"] > 20 * done.data["one_write_ms"]
    assert done.data["problem"] is None


@pytest.mark.timed
def test_the_text_says_what_to_do_next() -> None:
    done = onewrite("demo", "--requests", "10")
    assert done.status == 0
    assert "two writes, Nagle on" in done.out
    assert "onewrite check -- CMD {url}" in done.out
