"""pytest plugin: the suites of httpcore and httpx over ``onewrite.httpx``. ONEWRITE_UNDER_TEST says how.

- ``installed``: after install();
- ``timed``: the same with a hook that reads each record;
- ``listened``: the same with a listener of every event besides.
"""

from __future__ import annotations

import os

import pytest

import onewrite
import onewrite.httpx

HOW = os.environ.get("ONEWRITE_UNDER_TEST", "installed")


class EveryEvent(onewrite.TimingListener):
    """Hears all."""

    def on_event(self, event: onewrite.Event) -> None:
        """Check *event*."""
        str(event)


if HOW == "installed":
    onewrite.httpx.install()
elif HOW == "timed":
    onewrite.httpx.install(on_timing=onewrite.Timing.to_dict)
else:
    onewrite.httpx.install(on_timing=onewrite.Timing.to_dict, listener=EveryEvent())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a hook has failed: that is swallowed."""
    if onewrite.hook_failures():
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
