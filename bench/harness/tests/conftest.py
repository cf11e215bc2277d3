"""A fixture of all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from onewrite_lab.servers.children import Children


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    """Helpers of a topology, ended after the test."""
    with Children(tmp_path / "logs") as started:
        yield started
