"""The doctor's report, as text and as JSON (schemas/doctor-v1.schema.json)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onewrite_cli.common.report import header
from onewrite_cli.common.terminal import table, wrapped
from onewrite_cli.doctor.verdict import ArmFigures, Diagnosis

__all__ = ["Examination", "as_data", "as_text"]

OF_THE_PATH = ("url", "method", "body_bytes", "first_hop", "requests", "keep_alive", "protocols", "notes")
OF_THE_DIAGNOSIS = ("headline", "why", "signs", "cures", "server_splits", "ack_delay_ms", "min_rtt_ms")
OF_AN_ARM = ("samples", "total_ms", "wait_ms", "tail_ms", "held_ms", "held_bytes", "cause", "refused")


@dataclass
class Examination:
    """All that the report says."""

    url: str
    method: str
    body_bytes: int
    first_hop: str
    requests: int
    statuses: dict[int, int]
    keep_alive: bool | None
    protocols: list[str]
    diagnosis: Diagnosis
    notes: list[str]


def as_text(seen: Examination) -> str:
    """The verdict, what was seen, and the cure."""
    diagnosis = seen.diagnosis
    body = f" of {seen.body_bytes} bytes" if seen.body_bytes else ""
    statuses = ", ".join(f"{status} ({count})" for status, count in sorted(seen.statuses.items()))
    keep = {True: "yes", False: "no", None: "not seen"}[seen.keep_alive]
    rtt = f"{diagnosis.min_rtt_ms:.2f} ms" if diagnosis.min_rtt_ms is not None else "not seen"
    lines = wrapped(f"{diagnosis.first_hop}: {diagnosis.headline}")
    lines += wrapped(f"{seen.method}{body} {seen.url}; first hop: {seen.first_hop}", "", "  ")
    sent = f"{seen.requests} requests, status {statuses or 'none'}; keep-alive: {keep}"
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
    diagnosis = seen.diagnosis
    return {
        **header("onewrite doctor", diagnosis.exit_status),
        "verdict": diagnosis.first_hop,
        **{field: getattr(seen, field) for field in OF_THE_PATH},
        **{field: getattr(diagnosis, field) for field in OF_THE_DIAGNOSIS},
        "statuses": {str(status): count for status, count in sorted(seen.statuses.items())},
        "control": dict(zip(("split_ms", "single_ms"), (arm.total_ms for arm in diagnosis.control), strict=True)),
        "arms": {arm.arm.key: {field: getattr(arm, field) for field in OF_AN_ARM} for arm in diagnosis.arms},
    }
