"""Fixtures, and the draw: of tests with the mark `drawn`, `make test` runs one in four, by SEED; WHOLE=1 runs all."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from onewrite_lab.servers.children import Children

ONE_IN = 4


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    """Helpers of a topology, ended after the test."""
    with Children(tmp_path / "logs") as started:
        yield started


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = os.environ.get("SEED")
    if not seed or os.environ.get("WHOLE") or os.environ.get("TEST"):
        return
    drawn = sorted((item for item in items if item.get_closest_marker("drawn")), key=lambda item: item.nodeid)
    # Each worker of pytest-xdist draws the same.
    chosen = random.Random(seed).sample(drawn, -(-len(drawn) // ONE_IN))
    left_out = [item for item in drawn if item not in chosen]
    items[:] = [item for item in items if item not in left_out]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
