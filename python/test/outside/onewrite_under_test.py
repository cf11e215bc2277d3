"""pytest plugin: someone else's test suite over onewrite. ONEWRITE_UNDER_TEST says how.

- ``installed``: urllib3 itself, after install();
- ``timed``: the same with a hook that reads each record;
- ``listened``: the same with a listener of every event besides;
- ``own``: onewrite's classes in the places of urllib3's;
- ``own-timed``: the same, each with a hook that reads each record.
"""

from __future__ import annotations

import functools
import os
import pathlib
import typing

import pytest
import urllib3
import urllib3.connection
import urllib3.connectionpool
import urllib3.poolmanager

import onewrite

HOW = os.environ.get("ONEWRITE_UNDER_TEST", "installed")
ALLOWED = pathlib.Path(__file__).with_name("allowed-deviations.txt")


class EveryEvent(onewrite.TimingListener):
    """Hears all."""

    def on_event(self, event: onewrite.Event) -> None:
        """Check *event*."""
        str(event)


def timed(cls: type) -> None:
    """Give each instance of *cls* a hook, unless it is given one."""
    init = cls.__init__  # type: ignore[misc]

    @functools.wraps(init)
    def __init__(self: typing.Any, *args: typing.Any, **kwargs: typing.Any) -> None:
        init(self, *args, **{"on_timing": onewrite.Timing.to_dict, **kwargs})

    cls.__init__ = __init__  # type: ignore[misc]


if HOW == "installed":
    onewrite.install()
elif HOW == "timed":
    onewrite.install(on_timing=onewrite.Timing.to_dict)
elif HOW == "listened":
    onewrite.install(on_timing=onewrite.Timing.to_dict, listener=EveryEvent())
else:
    urllib3.connectionpool.HTTPConnectionPool.ConnectionCls = onewrite.HTTPConnection
    urllib3.connectionpool.HTTPSConnectionPool.ConnectionCls = onewrite.HTTPSConnection
    for name in ("HTTPConnection", "HTTPSConnection"):
        own = getattr(onewrite, name)
        setattr(urllib3.connectionpool, name, own)
        setattr(urllib3.connection, name, own)
    urllib3.connection.VerifiedHTTPSConnection = onewrite.HTTPSConnection
    for name in ("HTTPConnectionPool", "HTTPSConnectionPool"):
        own = getattr(onewrite, name)
        setattr(urllib3.connectionpool, name, own)
        setattr(urllib3.poolmanager, name, own)
        setattr(urllib3, name, own)
    urllib3.poolmanager.pool_classes_by_scheme = {
        "http": onewrite.HTTPConnectionPool,
        "https": onewrite.HTTPSConnectionPool,
    }
    if HOW == "own-timed":
        for cls in (onewrite.PoolManager, onewrite.HTTPConnectionPool):
            timed(cls)
    for name in ("PoolManager", "ProxyManager"):
        own = getattr(onewrite, name)
        setattr(urllib3.poolmanager, name, own)
        setattr(urllib3, name, own)


def deviations() -> dict[str, str]:
    """Part of a test's id → why it may fail."""
    lines = [line.strip() for line in ALLOWED.read_text().splitlines()]
    pairs = [line.partition("  ") for line in lines if line and not line.startswith("#")]
    return {name: reason.strip() for name, _, reason in pairs}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what may fail; it still runs."""
    allowed = deviations()
    for item in items:
        for name, reason in allowed.items():
            if name in item.nodeid:
                wait = reason.startswith("not run:")
                item.add_marker(pytest.mark.skip(reason=reason) if wait else pytest.mark.xfail(reason=reason))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a hook has failed: that is swallowed."""
    if onewrite.hook_failures():
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
