"""`onewrite doctor`: from the options to the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_cli.doctor import kernel
from onewrite_cli.doctor.arms import ARMS
from onewrite_cli.doctor.connection import tls_context
from onewrite_cli.doctor.consent import ask
from onewrite_cli.doctor.control import ControlServer
from onewrite_cli.doctor.measure import Line, Samples, measure, requests_per_line
from onewrite_cli.doctor.protocols import protocols_of
from onewrite_cli.doctor.report import Examination, as_json, as_text
from onewrite_cli.doctor.request import DoctorRequest, read_body
from onewrite_cli.doctor.route import Route, route_to
from onewrite_cli.doctor.verdict import Control, diagnose
from onewrite_cli.exit_status import ExitStatus
from onewrite_cli.progress import Progress

__all__ = ["DoctorOptions", "doctor", "examine"]


@dataclass
class DoctorOptions:
    """What the user said. `form` is text or json."""

    url: str
    post: str | None = None
    post_bytes: int | None = None
    headers: list[str] = field(default_factory=list)
    proxy: str = "env"
    samples: int = 30
    ca_file: Path | None = None
    timeout_s: float = 15.0
    yes: bool = False
    form: str = "text"


def doctor(options: DoctorOptions) -> ExitStatus:
    """Examine and print. Raises CouldNotRun."""
    found = examine(options)
    print(as_json(found) if options.form == "json" else as_text(found))
    return found.diagnosis.exit_status


def examine(options: DoctorOptions) -> Examination:
    """Send the requests and judge them. Raises CouldNotRun."""
    route = route_to(options.url, options.proxy)
    request = DoctorRequest.to(route, read_body(options.post, options.post_bytes), options.headers)
    ask(route, request, requests_per_line(options.samples) * len(ARMS), yes=options.yes)
    protocols = protocols_of(route, options.ca_file, options.timeout_s) if route.tls else ["http/1.1"]
    if "http/1.1" not in protocols:
        return _only_http2(route, request, protocols)
    context = tls_context(options.ca_file, ["http/1.1"]) if route.tls else None
    samples = Samples()
    lines = [Line(arm, route, request, context, samples) for arm in ARMS]
    control = ControlServer()
    try:
        with Progress(f"asking {route.authority}") as progress:

            def said(number: int) -> None:
                progress.say(f"asking {route.authority}: {number} of {options.samples} rounds")

            measure([*lines, *control.lines], options.samples, options.timeout_s, said)
        diagnosis = diagnose(samples, control.result())
    finally:
        control.close()
    return Examination(
        f"{route.url.scheme}://{route.authority}{route.url.path or '/'}",
        request.method,
        request.body_bytes,
        route.first_hop,
        samples.sent,
        dict(Counter(sample.status for sample in samples.taken)),
        samples.kept_alive,
        protocols,
        diagnosis,
        _notes(route, request, samples),
    )


def _only_http2(route: Route, request: DoctorRequest, protocols: list[str]) -> Examination:
    """Nothing was sent: HTTP/2 writes frames, and one write of HTTP/1.1 says nothing about it."""
    diagnosis = diagnose(Samples(), Control(0.0, 0.0))
    diagnosis.why = ["the server speaks HTTP/2 only: the doctor asks in HTTP/1.1, and sent nothing"]
    return Examination(
        f"{route.url.scheme}://{route.authority}{route.url.path or '/'}",
        request.method,
        request.body_bytes,
        route.first_hop,
        0,
        {},
        None,
        protocols,
        diagnosis,
        [],
    )


def _notes(route: Route, request: DoctorRequest, samples: Samples) -> list[str]:
    notes = []
    if request.method == "GET":
        notes.append(
            "a GET was cut in its head; a proxy that waits for whole bodies may treat a POST otherwise: --post FILE asks that"
        )
    if request.too_large:
        notes.append("the second piece is larger than a segment of an Ethernet, which Nagle's algorithm does not hold")
    if any(sample.status >= 400 for sample in samples.taken):
        notes.append("the server refused the requests (see the statuses); it may refuse before it has read them")
    if samples.failures:
        notes.append(f"{len(samples.failures)} requests failed and were sent again: {samples.failures[-1]}")
    if not kernel.AVAILABLE:
        notes.append("skipped: held bytes, causes and rtt need Linux's TCP_INFO; this verdict is by times alone")
    if samples.kept_alive is False:
        notes.append("the server closes every connection: each request was the first of its connection")
    if route.proxy is not None:
        notes.append("the first hop is the proxy: what it does towards the server cannot be seen from here")
    return notes
