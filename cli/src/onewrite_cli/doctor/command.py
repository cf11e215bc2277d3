"""`onewrite doctor`: from the options to the report."""

from __future__ import annotations

import contextlib
import http.client
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_lab.witness import tcpinfo

from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.origin import Origin
from onewrite_cli.common.report import as_json
from onewrite_cli.common.response import NOT_ENDED
from onewrite_cli.common.terminal import Progress, say
from onewrite_cli.doctor.connection import ARMS, ONE, SPLIT, SPLIT_NODELAY, protocols_of, tls_context
from onewrite_cli.doctor.measure import FAR_APART_S, STOP_AT, Line, Samples, Stopped, measure, probe, requests_per_line
from onewrite_cli.doctor.report import Examination, as_data, as_text
from onewrite_cli.doctor.request import DoctorRequest, Route, ask, reached, read_body, route_to
from onewrite_cli.doctor.verdict import Control, diagnose, nothing_measured

__all__ = ["DoctorOptions", "control_lines", "doctor", "examine"]


@dataclass
class DoctorOptions:
    """The options of the command line. `form` is text or json."""

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
    seen = examine(options)
    say(as_json(as_data(seen)) if options.form == "json" else as_text(seen))
    return seen.diagnosis.exit_status


def examine(options: DoctorOptions) -> Examination:
    """Send the requests and judge them. Raises CouldNotRun."""
    route = route_to(options.url, options.proxy)
    request = DoctorRequest.to(route, read_body(options.post, options.post_bytes), options.headers)
    ask(route, request, 1 + requests_per_line(options.samples) * len(ARMS), yes=options.yes)
    route = reached(route, options.timeout_s)
    protocols = protocols_of(route, options.ca_file, options.timeout_s) if route.tls else ["http/1.1"]
    samples = Samples()
    statuses: dict[int, int] = {}
    if "http/1.1" not in protocols:
        diagnosis = nothing_measured("the server speaks HTTP/2 only: the doctor sends HTTP/1.1, and sent nothing")
    else:
        context = tls_context(options.ca_file, ["http/1.1"]) if route.tls else None
        lines = [Line(arm, route, request, context, samples) for arm in ARMS]
        try:
            with Progress(f"sending to {route.authority}") as progress, control_lines() as (control, control_samples):
                _try_one(lines, options.timeout_s)
                rounds = options.samples
                measure(
                    [*lines, *control],
                    rounds,
                    options.timeout_s,
                    lambda number: progress.say(f"sending to {route.authority}: {number} of {rounds} rounds"),
                )
            controls = Control(control_samples.of(SPLIT), control_samples.of(ONE))
            diagnosis = diagnose(samples, controls, too_large=request.too_large)
            statuses = dict(Counter(sample.status for sample in samples.taken))
        except Stopped as stopped:
            diagnosis = nothing_measured(_stopped(stopped.status))
            statuses = {stopped.status: samples.sent}
        finally:
            for line in lines:
                line.close()
    return Examination(
        route.shown,
        request.method,
        request.body_bytes,
        route.first_hop,
        samples.sent,
        statuses,
        samples.kept_alive,
        protocols,
        diagnosis,
        _notes(route, request, samples) if samples.sent else [],
    )


@contextlib.contextmanager
def control_lines() -> Iterator[tuple[list[Line], Samples]]:
    """A server of the doctor itself on loopback that delays its ACKs; its lines are measured in turn with the others."""
    origin, samples = Origin("http"), Samples()
    try:
        route = route_to(origin.url, "none")
        request = DoctorRequest.to(route, b"x" * 200, [])
        yield [Line(arm, route, request, None, samples) for arm in (SPLIT, ONE)], samples
    finally:
        origin.close()


def _try_one(lines: list[Line], timeout_s: float) -> None:
    """A whole request, and where it fails a split one. Raises Stopped, CouldNotRun when the server takes neither."""
    seen: dict[str, str] = {}
    for arm, name in ((ONE, "one write"), (SPLIT_NODELAY, "two writes")):
        tried = probe(next(line for line in lines if line.arm is arm), timeout_s)
        if not isinstance(tried, str) and tried.status < 400:
            return
        if not isinstance(tried, str) and (tried.status in STOP_AT or len(seen) == 1):
            raise Stopped(tried.status)
        seen[name] = tried if isinstance(tried, str) else f"status {tried.status}"
        for line in lines:
            line.apart_s = FAR_APART_S
        if tried == NOT_ENDED:
            raise CouldNotRun(f"{NOT_ENDED} ({timeout_s:g} s, --timeout): for a stream of events say --stream")
    raise CouldNotRun("no answer. " + "; ".join(f"In {name}: {what}" for name, what in seen.items()) + " (--timeout)")


def _stopped(status: int) -> str:
    """The reason why no more requests were sent."""
    word = http.client.responses.get(status, "refused")
    help_ = {
        401: "give credentials: user:password@ in the URL, or --header 'Authorization: …'",
        403: "name a path that you may use",
        404: "name a path that is there",
        405: "use a method that it takes: --get, --post FILE or --post-bytes N",
        429: "the server limits the rate of requests; try later, with fewer --samples",
        503: "the server, or a proxy before it, is not available now",
    }.get(status, "name a path, with a body, that it accepts")
    return f"the server answered {status} ({word}), so no more was sent: {help_}"


def _notes(route: Route, request: DoctorRequest, samples: Samples) -> list[str]:
    notes = []
    if request.method == "GET":
        notes.append("a GET was cut in its head; a server may treat a POST, cut before its body, otherwise: --post-bytes 200")
    failures = [failure for of_arm in samples.failures.values() for failure in of_arm]
    if failures:
        notes.append(f"{len(failures)} requests failed, the last: {failures[-1]}")
    if not tcpinfo.AVAILABLE:
        notes.append("skipped: held bytes, causes and rtt need Linux's TCP_INFO; this verdict is by times alone")
    if samples.kept_alive is False:
        notes.append("the server closes every connection: each request was the first of its connection")
    if samples.few_at_a_time:
        notes.append("the server answers fewer than 4 connections at a time, so they were used in turn")
    if route.proxy is not None:
        notes.append("the first hop is the proxy: what it does towards the server cannot be seen from here")
    return notes
