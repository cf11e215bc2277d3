"""`onewrite doctor`: from the options to the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from onewrite_lab.probe import NOT_ENDED
from onewrite_lab.witness import tcpinfo

from onewrite_cli.common.controls import request_controls
from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.report import as_json
from onewrite_cli.common.stalls import Controls
from onewrite_cli.common.terminal import print_out, progress
from onewrite_cli.doctor.measure import (
    ARMS,
    FAR_APART_S,
    ONE,
    SPLIT,
    SPLIT_NODELAY,
    STOP_AT,
    Line,
    Samples,
    Stopped,
    in_words,
    measure,
    refusal,
    requests_per_line,
    tls_context,
)
from onewrite_cli.doctor.report import Examination, as_data, as_text
from onewrite_cli.doctor.request import DoctorRequest, Route, confirm, read_body, route_to, with_open_address
from onewrite_cli.doctor.verdict import Diagnosis, diagnose

__all__ = ["DoctorOptions", "doctor"]


@dataclass
class DoctorOptions:
    """The options of the command line."""

    url: str
    post: str | None = None
    post_bytes: int | None = None
    headers: list[str] = field(default_factory=list)
    proxy: str = "env"
    samples: int = 30
    ca_file: Path | None = None
    timeout_s: float = 15.0
    yes: bool = False
    format: str = "text"


def doctor(options: DoctorOptions) -> ExitStatus:
    """Send the requests, judge them and print. Raises CouldNotRun."""
    route = route_to(options.url, options.proxy)
    request = DoctorRequest.to(route, read_body(options.post, options.post_bytes), options.headers)
    confirm(route, request, 1 + requests_per_line(options.samples) * len(ARMS), yes=options.yes)
    route = with_open_address(route, options.timeout_s)
    samples, controls = Samples(), Controls([], [])
    try:
        controls += request_controls()
        _measure(route, request, options, samples)
        controls += request_controls()
        diagnosis = diagnose(samples, controls, too_large=request.too_large)
    except Stopped as stopped:
        diagnosis = Diagnosis(unknown=str(stopped))
    notes = _notes(route, request, samples) if samples.sent else []
    seen = Examination(route, request, samples, controls, diagnosis, notes)
    print_out(as_json(as_data(seen)) if options.format == "json" else as_text(seen))
    return diagnosis.exit_status


def _measure(route: Route, request: DoctorRequest, options: DoctorOptions, samples: Samples) -> None:
    """Fill `samples`. Raises Stopped, CouldNotRun."""
    context = tls_context(options.ca_file) if route.tls else None
    lines = [Line(arm, route, request, context, samples) for arm in ARMS]
    sending = f"sending to {route.authority}"
    try:
        with progress(sending) as show:
            _try_one(lines, options.timeout_s)
            rounds = options.samples
            measure(lines, rounds, options.timeout_s, lambda number: show(f"{sending}: {number} of {rounds} rounds"))
    finally:
        for line in lines:
            line.close()


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
    raise CouldNotRun(f"the request is not answered, or refused. {'; '.join(seen)}")


def _notes(route: Route, request: DoctorRequest, samples: Samples) -> list[str]:
    notes = []
    if route.proxy is not None:
        notes.append("the path goes through a proxy, which is the first hop: what it does towards the server is not seen")
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
    return notes
