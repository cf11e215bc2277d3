"""`onewrite demo` shows the stall and its end."""

from __future__ import annotations

import pytest

from conftest import onewrite


@pytest.mark.timed
def test_it_shows_the_stall_and_what_to_do_next() -> None:
    done = onewrite("demo", "--requests", "10")
    assert done.status == 0
    assert done.out.startswith("STALLS: a request in two writes takes ")
    assert "onewrite check -- CMD {url}" in done.out
