"""Judges each group's adapter by the lab's stall rule and by the kernel's counts.

A target shows something if the control stalled where it must, and if the reference (a raw socket with one write) is
clean. If not, the verdict is inconclusive. The adapter must be clean, use one segment and have TCP_NODELAY on. A mixed
adapter is measured again: mixed each time, it is faulty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from onewrite_lab import stall

from onewrite_bench.verdict.results import Cell, Verdict

__all__ = ["FAULTS", "MEASUREMENTS", "exit_status", "judge", "lines", "settle"]

MEASUREMENTS = 3
"""The most measurements of a group that is not clean."""

FAULTS = {
    "stalls": "STALLS",
    "mixed": "STALLS NOW AND THEN",
    "fails": "FAILS",
    "splits": "SPLITS",
    "nodelay off": "TCP_NODELAY is off",
}
"""The faults of an adapter, worst first, and their names in reports."""

MIXED_SHARE = 0.2
"""The least share of late requests of a mixed adapter that can become faulty. Below it the verdict is inconclusive: a
busy machine makes as many late while the raw socket beside them is clean."""

Found = list[tuple[str, str]]


def judge(cells: Sequence[Cell]) -> list[Verdict]:
    """One verdict per group that has an adapter, in the order of the cells."""
    verdicts = []
    for group in dict.fromkeys(cell.group for cell in cells):
        members = [cell for cell in cells if cell.group == group]
        adapter = [cell for cell in members if cell.role == "adapter"]
        if adapter:
            verdicts.append(_judge_group(group, adapter, members))
    return verdicts


def lines(cells: Sequence[Cell]) -> dict[tuple[str, str], float]:
    """By group and target, the time in microseconds above which a request is late.

    It is the lab's line between the medians of the reference and of the control. Without both there is none.
    """
    found: dict[tuple[str, str], float] = {}
    for cell in cells:
        key = (cell.group, cell.target)
        if key not in found:
            beside = {one.role: one for one in cells if (one.group, one.target) == key and one.measured}
            if "reference" in beside and "control" in beside:
                medians = beside["control"].p50_us, beside["reference"].usual_us
                found[key] = stall.late_line(*medians, stall.LEAST_MS * 1000)
    return found


def _judge_group(group: str, adapter: Sequence[Cell], members: Sequence[Cell]) -> Verdict:
    counts = any(cell.required for cell in adapter)
    missing = next((cell.missing for cell in adapter if cell.missing), None)
    if missing is not None:
        return Verdict(group, "not run", missing, counts)
    faults: Found = []
    doubts: list[str] = []
    mixed: list[str] = []
    shown: list[tuple[Cell, Cell]] = []
    certain = False
    limits = lines(members)
    for cell in adapter:
        beside = {one.role: one for one in members if one.target == cell.target and one.role != "shown"}
        control, reference = beside.get("control"), beside.get("reference")
        doubt = _target_fails(cell, reference) or _nothing_seen(cell)
        if doubt is not None:
            doubts.append(f"{cell.target}: {doubt}")
            continue
        wire = _wire_faults(cell)
        certain = certain or bool(wire)
        faults += wire
        if cell.errors:
            faults.append(("fails", f"{cell.target}: {cell.errors} requests failed ({cell.error_sample})"))
        if not cell.measured or (not cell.stalls and (group, cell.target) not in limits):
            continue
        line_us = limits.get((group, cell.target), inf)
        doubt = _no_contrast(control, reference, line_us) if cell.stalls else _busy(reference, line_us)
        if doubt is None and control is not None:
            shown += [(cell, control)] if cell.stalls else []
            word = cell.word(line_us)
            share = f"{cell.share_late(line_us):.0%} of its requests were late"
            late = f"{cell.target}: p50 {cell.p50_us / 1000:.2f} ms, {share}"
            faults += [("stalls", late)] if word == "stalls" else []
            seldom = cell.share_late(line_us) < MIXED_SHARE
            mixed += [late] if word == "mixed" and not seldom else []
            doubts += [late] if word == "mixed" and seldom else []
        else:
            doubts.append(f"{cell.target}: {doubt}")
    if faults:
        kinds = [kind for kind in FAULTS if any(kind == one for one, _ in faults)]
        text = "; ".join(text for kind in kinds for one, text in faults if one == kind)
        return Verdict(group, "faulty", text, counts, kinds, certain)
    if mixed:
        return Verdict(group, "mixed", "; ".join(mixed + doubts), counts)
    if doubts:
        return Verdict(group, "inconclusive", "; ".join(doubts), counts)
    return Verdict(group, "clean", _praise(shown) if shown else _wire(adapter[0]), counts)


def _target_fails(cell: Cell, reference: Cell | None) -> str | None:
    """Return the reason if the target is at fault: the reference fails there, too."""
    if cell.errors and reference is not None and reference.errors:
        return f"the target fails, for a raw socket too ({cell.error_sample})"
    return None


def _nothing_seen(cell: Cell) -> str | None:
    """Return the reason if the cell shows nothing about the adapter: no answer, or no count of the kernel."""
    if cell.errors:
        return None
    if not any(cell.rounds_us):
        return "nothing was measured"
    if cell.fresh:
        return None
    if not cell.segments:
        return "the kernel counted nothing: segments and TCP_NODELAY cannot be read here"
    # Counts come from connections that were open before and after a turn.
    if not cell.connections or (cell.segments_median or 0) < 1:
        requests = sum(count for _, count in cell.segments)
        counted = sum(sent for sent, _ in cell.segments)
        return (
            f"no connection was kept: the kernel counted {counted} segments of {requests} requests "
            f"on {cell.connections} open connections, so keep-alive is broken"
        )
    return None


def _wire_faults(cell: Cell) -> Found:
    """The faults in the kernel's counts."""
    faults = []
    segments = cell.segments_median
    # The count of most requests: on a busy machine an event loop may write a body's pieces in two turns.
    if segments is not None and cell.most_segments is not None and int(segments + 0.5) > cell.most_segments:
        faults.append(("splits", f"{cell.target}: {segments:.2f} segments per request"))
    if cell.bare_connections:
        text = f"{cell.target}: TCP_NODELAY on {cell.connections - cell.bare_connections} of {cell.connections}"
        faults.append(("nodelay off", f"{text} connections"))
    return faults


def _no_contrast(control: Cell | None, reference: Cell | None, line_us: float) -> str | None:
    """Return the reason if control and reference do not differ at this target, else None."""
    if control is None or not control.measured:
        why = (control.missing or control.error_sample) if control else "there is none"
        return f"no control ({why})"
    if reference is None or not reference.measured:
        why = (reference.missing or reference.error_sample) if reference else "there is none"
        return f"no raw socket beside it ({why})"
    if not stall.control_stalls(control.late(line_us), len(control.latencies_us)):
        return f"the control stalled in {control.share_late(line_us):.0%} of its requests only"
    return _busy(reference, line_us)


def _busy(reference: Cell | None, line_us: float) -> str | None:
    """Return the reason if the machine was too busy to judge, else None: the raw socket itself was late."""
    if reference is None or stall.is_clean(reference.late(line_us), len(reference.latencies_us)):
        return None
    return f"the machine is too busy: {reference.share_late(line_us):.0%} of a raw socket's requests were late"


def _praise(pairs: Sequence[tuple[Cell, Cell]]) -> str:
    controls, mine = ([one.p50_us / 1000 for one in side] for side in ([c for _, c in pairs], [a for a, _ in pairs]))
    return f"control p50 {_range(controls)} ms, adapter {_range(mine)} ms{_wire(pairs[0][0], ', ')}"


def _wire(cell: Cell, before: str = "") -> str:
    mode = cell.segments_median
    return "" if mode is None else f"{before}{round(mode, 2):g} segment{'s' if mode > 1 else ''} per POST"


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def settle(verdicts: Sequence[Verdict], earlier: Mapping[str, Sequence[str]]) -> None:
    """Make the last measurement's states final.

    A busy machine can make a group look bad once; a defect comes back. A group is faulty if every measurement was bad:
    faulty or, in MEASUREMENTS of them, mixed. The kernel's counts need no second measurement.
    """
    for line in verdicts:
        states = [*earlier.get(line.group, []), line.state]
        if line.certain:
            continue
        line.text += f" (measured {len(states)} times: {', '.join(states)})" if len(states) > 1 else ""
        if line.state not in ("faulty", "mixed"):
            continue
        if set(states) <= {"faulty", "mixed"} and (line.state == "faulty" or len(states) >= MEASUREMENTS):
            line.faults = line.faults or ["mixed"]
            line.state = "faulty"
        elif not set(states) <= {"faulty", "mixed"}:
            line.state = "inconclusive"


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """0: the stall was shown and every adapter is clean. 1: an adapter is faulty. 2: inconclusive. 3: nothing ran."""
    if any(verdict.state == "faulty" for verdict in verdicts):
        return 1
    counting = [verdict for verdict in verdicts if verdict.counts]
    if counting and all(verdict.state == "not run" for verdict in counting):
        return 3
    return 0 if counting and all(verdict.state == "clean" for verdict in counting) else 2
