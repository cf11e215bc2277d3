"""Collects what the adapter's hook delivers. A call runs on one thread, so the thread tells which request it is."""

from __future__ import annotations

import threading
import typing

Records = list[dict[str, typing.Any]]


class RaisedByHookError(Exception):
    """What a hook of mode "raising" raises."""


class Hooks:
    def __init__(self, mode: str) -> None:
        self.on = mode != "none"
        self.mode = mode
        self.here = threading.local()

    def collect(self) -> Records:
        """Return the list that gets the records of this thread from now on."""
        self.here.records = records = Records()
        return records

    def on_timing(self, record: typing.Any) -> None:
        self.here.records.append({**record.to_dict(), "events": record.events})
        if self.mode == "raising":
            raise RaisedByHookError("on_timing")
