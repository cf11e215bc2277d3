"""`onewrite doctor`: from the options to the report."""

from __future__ import annotations

import http.client
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_cli.doctor import kernel
from onewrite_cli.doctor.arms import ARMS, ONE
from onewrite_cli.doctor.connection import tls_context
from onewrite_cli.doctor.consent import ask
from onewrite_cli.doctor.control import ControlServer
from onewrite_cli.doctor.measure import Line, Samples, Stopped, measure, probe, requests_per_line
from onewrite_cli.doctor.protocols import protocols_of
from onewrite_cli.doctor.report import Examination, as_json, as_text
from onewrite_cli.doctor.request import DoctorRequest, read_body
from onewrite_cli.doctor.route import Route, route_to
from onewrite_cli.doctor.verdict import diagnose, nothing_measured
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
    stream: bool = False
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
    ask(route, request, 1 + requests_per_line(options.samples) * len(ARMS), yes=options.yes)
    protocols = protocols_of(route, options.ca_file, options.timeout_s) if route.tls else ["http/1.1"]
    if "http/1.1" not in protocols:
        return _only_http2(route, request, protocols)
    context = tls_context(options.ca_file, ["http/1.1"]) if route.tls else None
    samples = Samples()
    lines = [Line(arm, route, request, context, samples) for arm in ARMS]
    control = ControlServer()
    statuses: dict[int, int] = {}
    try:
        with Progress(f"asking {route.authority}") as progress:

            def said(number: int) -> None:
                progress.say(f"asking {route.authority}: {number} of {options.samples} rounds")

            status = probe(next(line for line in lines if line.arm is ONE), options.timeout_s).status
            if status >= 400:
                raise Stopped(status)
            measure([*lines, *control.lines], options.samples, options.timeout_s, said)
        diagnosis = diagnose(samples, control.result())
    except Stopped as stopped:
        diagnosis = nothing_measured(_stopped(stopped.status))
        statuses = {stopped.status: 1}
    finally:
        for line in lines:
            if line.connection is not None:
                line.connection.close()
        control.close()
    return Examination(
        f"{route.url.scheme}://{route.authority}{route.url.path or '/'}",
        request.method,
        request.body_bytes,
        route.first_hop,
        samples.sent,
        statuses or dict(Counter(sample.status for sample in samples.taken)),
        samples.kept_alive,
        protocols,
        diagnosis,
        _notes(route, request, samples),
    )


def _only_http2(route: Route, request: DoctorRequest, protocols: list[str]) -> Examination:
    """Nothing was sent: HTTP/2 writes frames, and one write of HTTP/1.1 says nothing about it."""
    diagnosis = nothing_measured("the server speaks HTTP/2 only: the doctor sends HTTP/1.1, and sent nothing")
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


def _stopped(status: int) -> str:
    """Why no more requests were sent."""
    word = http.client.responses.get(status, "refused")
    help_ = {
        401: "give credentials: user:password@ in the URL, or --header 'Authorization: …'",
        403: "ask for a path that you may use",
        404: "ask for a path that is there",
        405: "ask with a method that it takes: --get, --post FILE or --post-bytes N",
        429: "the server limits the rate of requests; try later, with fewer --samples",
        503: "the server, or a proxy before it, is not available now",
    }.get(status, "ask for a path, with a body, that it accepts")
    return f"the server answered {status} ({word}), so no more was sent: {help_}"


def _notes(route: Route, request: DoctorRequest, samples: Samples) -> list[str]:
    notes = []
    if request.method == "GET":
        notes.append(
            "a GET was cut in its head; a proxy that waits for whole bodies may treat a POST otherwise: --post FILE asks that"
        )
    if request.too_large:
        notes.append("the second piece is larger than a segment of an Ethernet, which Nagle's algorithm does not hold")
    if samples.failures:
        notes.append(f"{len(samples.failures)} requests failed and were sent again: {samples.failures[-1]}")
    if not kernel.AVAILABLE:
        notes.append("skipped: held bytes, causes and rtt need Linux's TCP_INFO; this verdict is by times alone")
    if samples.kept_alive is False:
        notes.append("the server closes every connection: each request was the first of its connection")
    if route.proxy is not None:
        notes.append("the first hop is the proxy: what it does towards the server cannot be seen from here")
    return notes
