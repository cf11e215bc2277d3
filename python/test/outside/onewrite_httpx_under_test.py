"""pytest plugin: httpx's own test suite over ``onewrite.httpx`` with a hook that reads each record."""

from __future__ import annotations

import pytest

import onewrite
import onewrite.httpx


def read(record: onewrite.Record) -> None:
    """Read all that there is."""
    record.to_dict(), record.events, str(record)


onewrite.httpx.install(read)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a hook has failed: that is swallowed."""
    if onewrite.status()["hook_errors"]:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
