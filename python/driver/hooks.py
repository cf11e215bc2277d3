"""Collects what the adapter's hooks deliver. A call runs on one thread, so the thread tells which request it is."""

from __future__ import annotations

import threading
import typing


class Collected:
    """What was delivered for one request."""

    def __init__(self) -> None:
        self.timings: list[dict[str, typing.Any]] = []
        self.events: list[dict[str, typing.Any]] = []
        self.ended = threading.Event()


class RaisedByHookError(Exception):
    """What a hook of mode "raising" raises."""


class Hooks:
    def __init__(self, mode: str) -> None:
        self.on = mode != "none"
        self.raising = mode == "raising"
        self.mode = mode
        self.here = threading.local()

    def collect(self) -> Collected:
        self.here.collected = collected = Collected()
        return collected

    def _collected(self) -> Collected:
        return typing.cast(Collected, getattr(self.here, "collected", None) or self.collect())

    def on_timing(self, timing: typing.Any) -> None:
        self._collected().timings.append(timing.to_dict())
        if self.raising:
            raise RaisedByHookError("on_timing")

    def on_event(self, event: typing.Any) -> None:
        collected = self._collected()
        collected.events.append(event.to_dict())
        if event.name == "call_end":
            collected.ended.set()
        if self.raising:
            raise RaisedByHookError(event.name)

    def listener(self) -> typing.Any:
        import onewrite

        hooks = self

        class Listener(onewrite.TimingListener):
            def on_event(self, event: typing.Any) -> None:
                hooks.on_event(event)

        return Listener()
