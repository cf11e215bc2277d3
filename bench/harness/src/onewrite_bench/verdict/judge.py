"""Judges cells. Counts and wide ratios against an in-run control decide; never p99, never an absolute time.

A cell of role `control` at a target that stalls must have stalled, or nothing was shown there (inconclusive).
A cell of role `adapter` must not: few stalls, a p50 far below the control's, one segment per request, TCP_NODELAY.
"""

from __future__ import annotations

from collections.abc import Sequence

from onewrite_lab import stall

from onewrite_bench.verdict import stats
from onewrite_bench.verdict.results import Cell, Verdict

__all__ = ["FAULTS", "exit_status", "judge"]

SHARE_MARGIN = 0.10

FAULTS = {"stalls": "STALLS", "fails": "FAILS", "splits": "SPLITS", "nodelay off": "TCP_NODELAY is off"}
"""What an adapter can have done wrong, worst first, and how it is said. STALLS is said of time alone."""


def judge(cells: Sequence[Cell]) -> list[Verdict]:
    """One verdict per group and adapter client, in the order of the cells."""
    _allow_for_the_targets_own_time(cells)
    verdicts = []
    for group in dict.fromkeys(cell.group for cell in cells):
        members = [cell for cell in cells if cell.group == group]
        adapters = dict.fromkeys(cell.client for cell in members if cell.role == "adapter")
        for client in adapters:
            good = _good_controls(cells, group)
            verdicts.append(_judge_client(group, client, members, good, only=len(adapters) == 1))
    return verdicts


def _allow_for_the_targets_own_time(cells: Sequence[Cell]) -> None:
    """An unknown target may be slow by itself: a stall is the time beyond the good control's."""
    for group in dict.fromkeys(cell.group for cell in cells):
        good = _good_controls(cells, group)
        for cell in cells:
            control = good.get((cell.target, cell.body_bytes))
            if cell.group == group and cell.extra.get("unknown") and control is not None:
                cell.base_us = round((control.p50_ms or 0.0) * 1000)
                cell.stall_us = stats.STALL_US + cell.base_us


Good = dict[tuple[str, int], Cell]
"""The good control per target and body size."""


def _good_controls(cells: Sequence[Cell], group: str) -> Good:
    """The ones that took turns with this group; where it has none, those that ran beside it."""
    good = [cell for cell in cells if cell.role == "good" and cell.measured]
    good.sort(key=lambda cell: cell.group == group)
    return {(cell.target, cell.body_bytes): cell for cell in good}


def _noise(cell: Cell, good: Good) -> float | None:
    """The share of slow requests of a client that cannot stall, or None when there was no such client."""
    control = good.get((cell.target, cell.body_bytes))
    return None if control is None else control.share_over or 0.0


CALM_MS = 5.0
"""A raw client's 90th percentile on a machine that does little else; its median is a few tenths."""


def _calm(cells: Sequence[Cell], good: Good) -> bool:
    """Whether the good controls say that the machine was quiet while these cells were measured."""
    beside = [good[key] for cell in cells if (key := (cell.target, cell.body_bytes)) in good]
    base_ms = {id(cell): (cell.p50_ms or 0.0) if cell.stall_us > stats.STALL_US else 0.0 for cell in beside}
    return bool(beside) and all(
        stats.percentile(cell.latencies_us, 90) / 1000 < base_ms[id(cell)] + CALM_MS for cell in beside
    )


def _judge_client(group: str, client: str, members: Sequence[Cell], good: Good, only: bool) -> Verdict:
    mine = [cell for cell in members if cell.client == client]
    counts = any(cell.required for cell in mine)
    subject = group if only else f"{group} {client}"
    missing = next((cell for cell in mine if cell.skipped or cell.failed), None)
    if missing is not None:
        why = missing.failed or missing.skipped or ""
        return Verdict(subject, "not run", why, counts, {"group": group, "failed": bool(missing.failed)})
    faults: dict[str, list[str]] = {kind: [] for kind in FAULTS}
    slow: list[str] = []
    doubts: list[str] = []
    shown: list[tuple[Cell, Cell]] = []
    harmless: list[str] = []
    certain = False
    for cell in mine:
        control = next(
            (c for c in members if c.role == "control" and c.target == cell.target and c.body_bytes == cell.body_bytes),
            None,
        )
        failing = _target_fails(cell, members, good)
        if failing is not None:
            doubts.append(failing)
            continue
        wire = _wire_faults(cell)
        certain = certain or bool(wire)
        for kind, text in wire:
            faults[kind].append(text)
        if cell.errors:
            faults["fails"].append(f"{cell.target}: {cell.errors} requests failed ({cell.error_sample})")
        slow += _losses(cell, members)
        if not cell.measured:
            doubts += [] if cell.errors else [f"{cell.target}: nothing was measured"]
            continue
        if not cell.stalls:
            continue
        if _harmless(cell, control):
            harmless.append(cell.target)
            continue
        doubt = _doubt(cell, control, good)
        if doubt is not None:
            doubts.append(doubt)
            continue
        assert control is not None
        stalls, merely_slow = _stall_faults(cell, control, good)
        faults["stalls"] += stalls
        slow += merely_slow
        shown.append((cell, control))
    details = {
        "intervals_us": _intervals(shown),
        "group": group,
        "calm": _calm(mine, good),
        "certain": certain,  # counted by the kernel, so the same on a busy machine
    }
    kinds = [kind for kind in FAULTS if faults[kind]]
    if kinds:
        details["faults"] = kinds
        return Verdict(subject, kinds[0], "; ".join(text for kind in kinds for text in faults[kind]), counts, details)
    if slow:
        return Verdict(subject, "slow", "; ".join(slow), counts, details)
    if not doubts and not any(cell.stalls for cell in mine):
        return Verdict(subject, "clean", f"{mine[0].segments_mode or 0:g} segment per POST", counts, details)
    if harmless and not doubts:
        quiet = f"nobody stalls at {', '.join(harmless)}, not even the control"
        return Verdict(subject, "clean", "; ".join([_praise(shown), quiet] if shown else [quiet]), counts, details)
    if doubts or not shown:
        return Verdict(
            subject, "inconclusive", "; ".join(doubts) or "no target that stalls was measured", counts, details
        )
    return Verdict(subject, "clean", _praise(shown), counts, details)


def _harmless(cell: Cell, control: Cell | None) -> bool:
    """Whether an unknown target turned out to stall no client."""
    measured = control is not None and control.measured
    return bool(
        cell.extra.get("unknown") and measured and control and not stall.control_stalls(control.share_over or 0.0)
    )


def _target_fails(cell: Cell, members: Sequence[Cell], good: Good) -> str | None:
    """That requests fail for the control and the bare socket as well, which is no fault of the adapter."""
    if not cell.errors:
        return None
    same = [c for c in members if (c.target, c.body_bytes, c.role) == (cell.target, cell.body_bytes, "control")]
    beside = [c for c in (*same, good.get((cell.target, cell.body_bytes))) if c is not None]
    failing = [c for c in members if c.role == "good" and (c.target, c.body_bytes) == (cell.target, cell.body_bytes)]
    others = {id(c): c for c in (*beside, *failing)}.values()
    if others and all(c.errors for c in others):
        return f"{cell.target}: the target fails, for a bare socket too ({cell.error_sample})"
    # An unknown target may need what only the bare socket has: an authority that this language does not trust.
    own = next((c for c in same if cell.extra.get("unknown")), None)
    if own is not None and (own.errors or own.failed or own.skipped) and not own.measured:
        return f"{cell.target}: it fails for the language's own control too ({own.error_sample or own.failed})"
    return None


def _wire_faults(cell: Cell) -> list[tuple[str, str]]:
    """What the kernel counted: (kind of fault, text)."""
    faults = []
    segments = cell.segments_mode
    most = cell.extra.get("most_segments", 1)
    if segments is not None and segments > most and cell.extra.get("one_segment", True):
        faults.append(("splits", f"{cell.target}: {segments:.2f} segments per request"))
    if cell.connections_nodelay < cell.connections:
        text = f"{cell.target}: TCP_NODELAY on {cell.connections_nodelay} of {cell.connections} connections"
        faults.append(("nodelay off", text))
    return faults


def _losses(cell: Cell, members: Sequence[Cell]) -> list[str]:
    """Where nothing stalls and the scenario says so, the adapter may not be much slower than the stock library."""
    ratio = cell.extra.get("no_loss_ratio")
    if ratio is None or cell.stalls:
        return []
    for stock in members:
        same = (stock.target, stock.body_bytes) == (cell.target, cell.body_bytes)
        if same and stock.client == "stock" and stock.measured and (cell.p50_ms or 0) > ratio * (stock.p50_ms or 0):
            return [f"{cell.body_bytes} bytes: p50 {cell.p50_ms:.2f} ms beside stock's {stock.p50_ms:.2f} ms"]
    return []


def _doubt(cell: Cell, control: Cell | None, good: Good) -> str | None:
    """Why this target shows nothing about the adapter, or None."""
    if control is None or not control.measured:
        why = (control.failed or control.skipped) if control else "there is none"
        return f"{cell.target}: no control ({why})"
    share = control.share_over or 0.0
    if not stall.control_stalls(share):
        return f"{cell.target}: the control stalled in {share:.0%} of its requests only"
    noise = _noise(cell, good)
    if noise is not None and stall.says_nothing(noise):
        limit_ms = cell.stall_us // 1000
        return f"{cell.target}: even a raw client in one write took over {limit_ms} ms in {noise:.0%} of its requests"
    return None


def _stall_faults(cell: Cell, control: Cell, good: Good) -> tuple[list[str], list[str]]:
    """What is a stall for certain, and what may be the machine: few over the limit, or a p50 that no stall explains."""
    limit = f"over {cell.stall_us // 1000} ms"
    noise = _noise(cell, good)
    if noise is None:
        noise = stall.GOOD_SHARE - SHARE_MARGIN
    share = cell.share_over or 0.0
    stalls: list[str] = []
    slow: list[str] = []
    if cell.extra.get("judge_share", True) and share > noise + SHARE_MARGIN:
        (stalls if stall.stalls(share, noise) else slow).append(f"{cell.target}: {share:.0%} of its requests {limit}")
    p50, control_p50 = cell.p50_ms or 0.0, control.p50_ms or 0.0
    base = cell.base_us / 1000
    if p50 - base > (control_p50 - base) * cell.p50_ratio:
        text = f"{cell.target}: p50 {p50:.2f} ms beside the control's {control_p50:.2f} ms"
        (stalls if p50 * 1000 > cell.stall_us else slow).append(text)
    return stalls, slow


def _intervals(pairs: Sequence[tuple[Cell, Cell]]) -> dict[str, list[float]]:
    """95 % bootstrap intervals of p50(control) - p50(adapter) per target: printed, never a gate."""
    sizes = len({cell.body_bytes for cell, _ in pairs}) > 1
    found = {}
    for cell, control in pairs:
        edges = stats.bootstrap_difference(control.latencies_us, cell.latencies_us)
        found[f"{cell.body_bytes} B" if sizes else cell.target] = [round(edge, 1) for edge in edges]
    return found


def _praise(pairs: Sequence[tuple[Cell, Cell]]) -> str:
    controls = [control.p50_ms or 0.0 for _, control in pairs]
    mine = [cell.p50_ms or 0.0 for cell, _ in pairs]
    segments = pairs[0][0].segments_mode
    wire = "" if segments is None else f", {segments:g} segment per POST"
    return f"control p50 {_range(controls)} ms, adapter {_range(mine)} ms{wire}"


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """0: the stall was shown and every adapter is clean. 1: an adapter is at fault. 2: nothing was shown."""
    if any(verdict.state in FAULTS for verdict in verdicts):
        return 1
    counting = [verdict for verdict in verdicts if verdict.counts]
    return 0 if counting and all(verdict.state == "clean" for verdict in counting) else 2
