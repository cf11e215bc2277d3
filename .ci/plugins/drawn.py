"""A plugin of pytest: of tests with the mark `drawn`, a run takes one in `ONE_IN` of each function, drawn by SEED.

WHOLE=1 runs them all, as does pytest without SEED, or with TEST, which names one.
"""

from __future__ import annotations

import os
import random

import pytest

ONE_IN = 4


def partial() -> bool:
    return bool(os.environ.get("SEED")) and not os.environ.get("WHOLE") and not os.environ.get("TEST")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"drawn: long; one in {ONE_IN} runs in make test, drawn by SEED")


def pytest_report_header() -> str | None:
    return f"drawn by SEED={os.environ['SEED']}: one in {ONE_IN} of the long tests" if partial() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not partial():
        return
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("drawn") is not None:
            groups.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for name, group in groups.items():
        # Each worker of pytest-xdist draws the same.
        group.sort(key=lambda item: item.nodeid)
        chosen = random.Random(f"{os.environ['SEED']}/{name}").sample(group, -(-len(group) // ONE_IN))
        left_out |= set(group) - set(chosen)
    items[:] = [item for item in items if item not in left_out]
    if left_out:
        config.hook.pytest_deselected(items=sorted(left_out, key=lambda item: item.nodeid))
