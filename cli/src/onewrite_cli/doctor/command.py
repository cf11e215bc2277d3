"""`onewrite doctor`: from the options to the report."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_lab.witness import tcpinfo

from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.origin import Origin
from onewrite_cli.common.report import as_json
from onewrite_cli.common.response import NOT_ENDED
from onewrite_cli.common.terminal import progress, say
from onewrite_cli.doctor.connection import ARMS, ONE, SPLIT, SPLIT_NODELAY, protocols_of, tls_context
from onewrite_cli.doctor.measure import (
    FAR_APART_S,
    STOP_AT,
    Line,
    Samples,
    Stopped,
    in_words,
    measure,
    refusal,
    requests_per_line,
)
from onewrite_cli.doctor.report import Examination, as_data, as_text
from onewrite_cli.doctor.request import DoctorRequest, Route, ask, reached, read_body, route_to
from onewrite_cli.doctor.verdict import diagnose, nothing_measured

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
    try:
        if "http/1.1" not in protocols:
            raise Stopped("the server speaks HTTP/2 only: the doctor sends HTTP/1.1, and sent nothing")
        control = _measure(route, request, options, samples)
        diagnosis = diagnose(samples, control, too_large=request.too_large)
    except Stopped as stopped:
        diagnosis = nothing_measured(str(stopped))
    notes = _notes(route, request, samples) if samples.sent else []
    return Examination(route, request, protocols, samples, diagnosis, notes)


def _measure(route: Route, request: DoctorRequest, options: DoctorOptions, samples: Samples) -> Samples:
    """Fill `samples`, and return those of the control. Raises Stopped, CouldNotRun."""
    context = tls_context(options.ca_file, ["http/1.1"]) if route.tls else None
    lines = [Line(arm, route, request, context, samples) for arm in ARMS]
    sending = f"sending to {route.authority}"
    try:
        with progress(sending) as show, control_lines() as (control, control_samples):
            _try_one(lines, options.timeout_s)
            measure(
                [*lines, *control],
                options.samples,
                options.timeout_s,
                lambda number: show(f"{sending}: {number} of {options.samples} rounds"),
            )
            return control_samples
    finally:
        for line in lines:
            line.close()


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
    seen: list[str] = []
    for arm, name in ((ONE, "one write"), (SPLIT_NODELAY, "two writes")):
        try:
            status = next(line for line in lines if line.arm is arm).once(timeout_s).status
            if status < 400:
                return
            if status in STOP_AT or seen:
                raise refusal(status)
            seen.append(f"In {name}: status {status}")
        except OSError as error:
            if str(error) == NOT_ENDED:
                raise CouldNotRun(f"{NOT_ENDED} ({timeout_s:g} s, --timeout): for a stream of events say --stream") from error
            seen.append(f"In {name}: {in_words(error)}")
        for line in lines:
            line.apart_s = FAR_APART_S
    raise CouldNotRun(f"no answer. {'; '.join(seen)} (--timeout)")


def _notes(route: Route, request: DoctorRequest, samples: Samples) -> list[str]:
    notes = []
    if request.method == "GET":
        notes.append("a GET was cut in its head; a server may treat a POST, cut before its body, otherwise: --post-bytes 200")
    if early := sum(sample.early for sample in samples.of(SPLIT, SPLIT_NODELAY)):
        of = len(samples.of(SPLIT, SPLIT_NODELAY))
        notes.append(f"the server answered {early} of {of} requests before their second piece: whether it read that is not seen")
    if failures := samples.failed(*ARMS):
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
