"""The doctor's report, as text and as JSON (schemas/doctor-v1.schema.json)."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import Any

from onewrite_cli import __version__
from onewrite_cli.doctor.verdict import ArmFigures, Diagnosis
from onewrite_cli.width import columns, fitted

__all__ = ["Examination", "as_json", "as_text"]


@dataclass
class Examination:
    """All that is told."""

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


def as_text(found: Examination) -> str:
    diagnosis = found.diagnosis
    body = f" of {found.body_bytes} bytes" if found.body_bytes else ""
    statuses = ", ".join(f"{status} ({count})" for status, count in sorted(found.statuses.items()))
    keep = {True: "yes", False: "no", None: "not seen"}[found.keep_alive]
    rtt = f"{diagnosis.min_rtt_ms:.2f} ms" if diagnosis.min_rtt_ms is not None else "not seen"
    lines = [f"onewrite doctor: {found.method}{body} {found.url}", f"first hop: {found.first_hop}"]
    lines.append(f"{found.requests} requests, status {statuses or 'none'}; keep-alive: {keep}")
    lines[-1] += f"; protocols: {', '.join(found.protocols)}; rtt {rtt}"
    if any(arm.samples for arm in diagnosis.arms):
        head = f"{'ms, median':<26}{'n':>4}{'total':>9}{'wait':>9}{'tail':>9}{'held':>9}  cause"
        lines += ["", *(fitted(line, columns()) for line in (head, *map(_row, diagnosis.arms)))]
        split, single = diagnosis.control.split_ms, diagnosis.control.single_ms
        lines.append(f"control on loopback: two writes with Nagle on {split:.1f} ms, one write {single:.1f} ms")
    lines += ["", f"first hop: {diagnosis.first_hop}"]
    for text in (*diagnosis.why, *diagnosis.signs):
        lines += textwrap.wrap(text, columns(), initial_indent="  ", subsequent_indent="  ")
    if not diagnosis.signs and diagnosis.first_hop != "unknown":
        lines.append("  behind the first hop: no sign of a stall; nothing more can be seen from here")
    lines += [f"note: {note}" for note in found.notes]
    if diagnosis.first_hop in ("EXPOSED", "REFUSES"):
        lines += [
            "",
            "cure: one write per request, and TCP_NODELAY. `onewrite check -- YOUR CLIENT {url}` says whether yours does that.",
        ]
    return "\n".join(lines)


def _row(arm: ArmFigures) -> str:
    held = "-" if arm.held_ms is None else f"{arm.held_ms:.1f}"
    bytes_held = f" ({arm.held_bytes} bytes)" if arm.held_bytes else ""
    times = "".join(f"{value:>9.1f}" for value in (arm.total_ms, arm.wait_ms, arm.tail_ms))
    refused = f"; {arm.refused} refused" if arm.refused else ""
    return f"{arm.arm.name:<26}{arm.samples:>4}{times}{held:>9}  {arm.cause or '-'}{bytes_held}{refused}"


def as_json(found: Examination) -> str:
    diagnosis = found.diagnosis
    data: dict[str, Any] = {
        "tool": "onewrite doctor",
        "version": __version__,
        "schema": 1,
        "url": found.url,
        "method": found.method,
        "body_bytes": found.body_bytes,
        "first_hop": found.first_hop,
        "exit_status": int(diagnosis.exit_status),
        "verdict": diagnosis.first_hop,
        "why": diagnosis.why,
        "signs": diagnosis.signs,
        "server_splits_its_answer": diagnosis.server_splits,
        "ack_delay_ms": diagnosis.ack_delay_ms,
        "min_rtt_ms": diagnosis.min_rtt_ms,
        "requests": found.requests,
        "statuses": {str(status): count for status, count in sorted(found.statuses.items())},
        "keep_alive": found.keep_alive,
        "protocols": found.protocols,
        "control": {"split_ms": diagnosis.control.split_ms, "single_ms": diagnosis.control.single_ms},
        "arms": {
            arm.arm.key: {
                "samples": arm.samples,
                "total_ms": arm.total_ms,
                "wait_ms": arm.wait_ms,
                "tail_ms": arm.tail_ms,
                "held_ms": arm.held_ms,
                "held_bytes": arm.held_bytes,
                "cause": arm.cause,
                "refused": arm.refused,
            }
            for arm in diagnosis.arms
        },
        "notes": found.notes,
    }
    return json.dumps(data, indent=2)
