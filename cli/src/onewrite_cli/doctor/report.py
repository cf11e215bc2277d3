"""The doctor's report, as text and as JSON (schemas/doctor-v1.schema.json)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onewrite_cli.common.report import header
from onewrite_cli.common.terminal import table, wrapped
from onewrite_cli.doctor.measure import Samples
from onewrite_cli.doctor.request import DoctorRequest, Route
from onewrite_cli.doctor.verdict import ArmFigures, Diagnosis

__all__ = ["Examination", "as_data", "as_text"]

OF_THE_DIAGNOSIS = ("headline", "why", "signs", "cures", "server_splits", "ack_delay_ms", "min_rtt_ms")
OF_AN_ARM = ("samples", "total_ms", "wait_ms", "tail_ms", "held_ms", "held_bytes", "cause", "refused")


@dataclass
class Examination:
    """All that the report says."""

    route: Route
    request: DoctorRequest
    protocols: list[str]
    samples: Samples
    diagnosis: Diagnosis
    notes: list[str]


def as_text(seen: Examination) -> str:
    """The verdict, what was seen, and the cure."""
    diagnosis, route, request, samples = seen.diagnosis, seen.route, seen.request, seen.samples
    body = f" of {request.body_bytes} bytes" if request.body_bytes else ""
    statuses = ", ".join(f"{status} ({count})" for status, count in sorted(samples.statuses.items()))
    keep = {True: "yes", False: "no", None: "not seen"}[samples.kept_alive]
    rtt = f"{diagnosis.min_rtt_ms:.2f} ms" if diagnosis.min_rtt_ms is not None else "not seen"
    lines = wrapped(f"{diagnosis.first_hop}: {diagnosis.headline}")
    lines += wrapped(f"{request.method}{body} {route.shown}; first hop: {route.first_hop}", "", "  ")
    sent = f"{samples.sent} requests, status {statuses or 'none'}; keep-alive: {keep}"
    lines += wrapped(f"{sent}; protocols: {', '.join(seen.protocols)}; rtt {rtt}", "", "  ")
    if any(arm.samples for arm in diagnosis.arms):
        lines += ["", *_table(diagnosis.arms)]
        split, single = (arm.total_ms for arm in diagnosis.control)
        lines += [
            *wrapped(f"control on loopback: two writes with Nagle on {split:.1f} ms, one write {single:.1f} ms", "", "  "),
            "",
        ]
    for text in (*diagnosis.why, *diagnosis.signs):
        if text != diagnosis.headline:
            lines += wrapped(text)
    if not diagnosis.signs and diagnosis.first_hop in ("EXPOSED", "safe"):
        lines += wrapped("behind the first hop: no sign of a stall; nothing more can be seen from here")
    for note in seen.notes:
        lines += wrapped(f"note: {note}", "", "  ")
    for cure in diagnosis.cures:
        lines += wrapped(f"cure: {cure}", "", "  ")
    return "\n".join(lines)


def _table(arms: list[ArmFigures]) -> list[str]:
    rows = [["ms, median", "n", "total", "wait", "tail", "held", "bytes", "cause", "refused"]]
    for arm in arms:
        times = [f"{value:.1f}" if arm.samples else "-" for value in (arm.total_ms, arm.wait_ms, arm.tail_ms)]
        held = "-" if arm.held_ms is None else f"{arm.held_ms:.1f}"
        counts = [str(arm.held_bytes or "-"), arm.cause or "-", str(arm.refused or "-")]
        rows.append([arm.arm.name, str(arm.samples), *times, held, *counts])
    if not any(arm.refused for arm in arms):
        rows = [row[:-1] for row in rows]
    return table(rows, "<>>>>>><>"[: len(rows[0])], (6, 7, 1, 4, 3))


def as_data(seen: Examination) -> dict[str, Any]:
    diagnosis, samples = seen.diagnosis, seen.samples
    return {
        **header("onewrite doctor", diagnosis.exit_status),
        "verdict": diagnosis.first_hop,
        "url": seen.route.shown,
        "method": seen.request.method,
        "body_bytes": seen.request.body_bytes,
        "first_hop": seen.route.first_hop,
        "requests": samples.sent,
        "keep_alive": samples.kept_alive,
        "protocols": seen.protocols,
        "notes": seen.notes,
        **{field: getattr(diagnosis, field) for field in OF_THE_DIAGNOSIS},
        "statuses": {str(status): count for status, count in sorted(samples.statuses.items())},
        "control": dict(zip(("split_ms", "single_ms"), (arm.total_ms for arm in diagnosis.control), strict=True)),
        "arms": {arm.arm.key: {field: getattr(arm, field) for field in OF_AN_ARM} for arm in diagnosis.arms},
    }
