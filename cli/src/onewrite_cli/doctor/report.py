"""The doctor's report, as text and as JSON (schemas/doctor-v1.schema.json)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from onewrite_lab.stall import median

from onewrite_cli.common.report import header
from onewrite_cli.common.stalls import Controls
from onewrite_cli.common.terminal import table, wrapped
from onewrite_cli.doctor.measure import ARMS, Arm, Samples
from onewrite_cli.doctor.request import DoctorRequest, Route
from onewrite_cli.doctor.verdict import Diagnosis, cause_of, failures_of

__all__ = ["Examination", "as_data", "as_text"]


@dataclass
class Examination:
    """All that the report says."""

    route: Route
    request: DoctorRequest
    samples: Samples
    controls: Controls
    diagnosis: Diagnosis
    notes: list[str]

    def figures(self, arm: Arm) -> dict[str, Any]:
        """Of one arm, medians in ms; `refused` counts failures, and statuses of 400 and above."""
        taken = self.samples.taken[arm.key]
        held = [one.held_ns for one in taken if one.held_ns is not None]
        causes = Counter(cause_of(one, arm.key, self.diagnosis.line_ns) for one in taken)
        return {
            "samples": len(taken),
            "total_ms": _ms(one.total_ns for one in taken),
            "wait_ms": _ms(one.wait_ns for one in taken),
            "tail_ms": _ms(one.tail_ns for one in taken),
            "held_ms": _ms(held),
            "held_bytes": max((one.held_bytes or 0 for one in taken), default=0) if held else None,
            "cause": causes.most_common(1)[0][0] if causes else None,
            "refused": failures_of(self.samples, arm.key)[0],
        }


def _ms(values: Iterable[int]) -> float | None:
    numbers = list(values)
    return round(median(numbers) / 1e6, 3) if numbers else None


def as_text(seen: Examination) -> str:
    """The verdict, what was seen, and the cure."""
    diagnosis, route, request, samples = seen.diagnosis, seen.route, seen.request, seen.samples
    body = f" of {request.body_bytes} bytes" if request.body_bytes else ""
    statuses = ", ".join(f"{status} ({count})" for status, count in sorted(samples.statuses.items()))
    keep = {True: "yes", False: "no", None: "not seen"}[samples.kept_alive]
    rtt = f"{diagnosis.min_rtt_ms:.2f} ms" if diagnosis.min_rtt_ms is not None else "not seen"
    lines = [] if diagnosis.findings else wrapped(f"{diagnosis.verdict}: {diagnosis.headline}")
    for one in diagnosis.findings:
        lines += wrapped(f"{one.word}: {one.headline}")
    lines += wrapped(f"{request.method}{body} {route.shown}; first hop: {route.first_hop}", "", "  ")
    sent = f"{samples.sent} requests, status {statuses or 'none'}; keep-alive: {keep}"
    lines += wrapped(f"{sent}; rtt {rtt}", "", "  ")
    if any(samples.taken.values()):
        split, whole = (median(times or [0]) / 1e6 for times in (seen.controls.split_ns, seen.controls.whole_ns))
        beside = f"control on loopback: two writes with Nagle on {split:.1f} ms, one write {whole:.1f} ms"
        lines += ["", *_table(seen), *wrapped(beside, "", "  "), ""]
    for one in diagnosis.findings:
        lines += [*wrapped(f"{one.word} ({one.count} of {one.of}): {one.why}"), *wrapped(f"cure: {one.cure}", "", "  ")]
    for note in seen.notes:
        lines += wrapped(f"note: {note}", "", "  ")
    return "\n".join(lines)


def _table(seen: Examination) -> list[str]:
    rows = [["ms, median", "n", "total", "wait", "tail", "held", "bytes", "cause", "refused"]]
    for arm in ARMS:
        of = seen.figures(arm)
        times = ["-" if of[name] is None else f"{of[name]:.1f}" for name in ("total_ms", "wait_ms", "tail_ms", "held_ms")]
        counts = [str(of[name] or "-") for name in ("held_bytes", "cause", "refused")]
        rows.append([arm.name, str(of["samples"]), *times, *counts])
    if all(row[-1] == "-" for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    return table(rows, "<>>>>>><>"[: len(rows[0])], (6, 7, 1, 4, 3))


def as_data(seen: Examination) -> dict[str, Any]:
    diagnosis, samples = seen.diagnosis, seen.samples
    return {
        **header("onewrite doctor", diagnosis.exit_status),
        "verdict": diagnosis.verdict,
        "headline": diagnosis.headline,
        "findings": [asdict(one) for one in diagnosis.findings],
        "url": seen.route.shown,
        "method": seen.request.method,
        "body_bytes": seen.request.body_bytes,
        "first_hop": seen.route.first_hop,
        "ack_delay_ms": diagnosis.ack_delay_ms,
        "min_rtt_ms": diagnosis.min_rtt_ms,
        "requests": samples.sent,
        "statuses": {str(status): count for status, count in sorted(samples.statuses.items())},
        "keep_alive": samples.kept_alive,
        "control": {"split_ms": _ms(seen.controls.split_ns), "whole_ms": _ms(seen.controls.whole_ns)},
        "arms": {arm.key: seen.figures(arm) for arm in ARMS},
        "notes": seen.notes,
    }
