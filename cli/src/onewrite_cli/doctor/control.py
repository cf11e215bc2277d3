"""The control: a server of the doctor's own on loopback that delays its ACKs."""

from __future__ import annotations

from onewrite_cli.check.origin import Origin
from onewrite_cli.doctor.arms import ONE, SPLIT
from onewrite_cli.doctor.measure import Line, Samples
from onewrite_cli.doctor.request import DoctorRequest
from onewrite_cli.doctor.route import route_to
from onewrite_cli.doctor.verdict import Control

__all__ = ["ControlServer"]

BODY = b"x" * 200


class ControlServer:
    """Its two lines are measured in turn with the others."""

    def __init__(self) -> None:
        self._origin = Origin("http", lambda arrival, again: None)
        self._samples = Samples()
        route = route_to(self._origin.url, "none")
        request = DoctorRequest.to(route, BODY, [])
        self.lines = [Line(arm, route, request, None, self._samples) for arm in (SPLIT, ONE)]

    def result(self) -> Control:
        return Control(self._samples.of(SPLIT), self._samples.of(ONE))

    def close(self) -> None:
        self._origin.close()
