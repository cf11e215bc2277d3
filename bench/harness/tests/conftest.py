"""Fixtures: a directory for logs and the helpers of a topology, ended after each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from onewrite_lab.servers.children import Children


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    with Children(tmp_path / "logs") as started:
        yield started
