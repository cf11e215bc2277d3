"""From samples to a verdict about the first hop.

The lab's stall rule draws the line between short and long from the control of the same run: the same split request,
sent with Nagle on over loopback to a server that delays its ACK. Decisions are by the share of samples, not by a mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median

from onewrite_lab.stall import CONTROL_SHARE, control_line

from onewrite_cli.doctor.arms import ARMS, ONE, QUICK, SPLIT, SPLIT_NODELAY, Arm
from onewrite_cli.doctor.measure import Samples
from onewrite_cli.doctor.sample import Sample
from onewrite_cli.exit_status import ExitStatus

__all__ = ["FEWEST", "ArmFigures", "Control", "Diagnosis", "diagnose", "nothing_measured"]

MOST_OF = CONTROL_SHARE  # a path is exposed at the share that makes a control stalled
FEW_OF = 0.25
FEWEST = 5
LIKE = (0.7, 1.5)  # between these times the control's stall is about as long as that


@dataclass
class ArmFigures:
    """Medians in ms."""

    arm: Arm
    samples: int
    total_ms: float
    wait_ms: float
    tail_ms: float
    held_ms: float | None
    held_bytes: int | None
    cause: str | None
    refused: int = 0  # statuses of 400 and above


@dataclass
class Control:
    """Split requests with Nagle on, and single ones, on loopback in the same run."""

    split: list[Sample]
    single: list[Sample]

    @property
    def split_ms(self) -> float:
        return _ms(sample.total for sample in self.split)

    @property
    def single_ms(self) -> float:
        return _ms(sample.total for sample in self.single)

    def line(self) -> tuple[float, str | None]:
        """The least time in ns that is a stall, and why nothing can be told or None.

        Judged by how long the kernel held the bytes, where that is seen: a busy machine changes it less than the times.
        """
        split_ns, single_ns = (
            [sample.total if sample.held is None else sample.held for sample in samples] for samples in (self.split, self.single)
        )
        line_ns, _, problem = control_line(split_ns, single_ns)
        return line_ns, problem


@dataclass
class Diagnosis:
    """`first_hop` is EXPOSED, REFUSES, safe or unknown."""

    first_hop: str
    why: list[str]
    arms: list[ArmFigures]
    control: Control
    found: bool = False
    server_splits: bool = False
    ack_delay_ms: float | None = None
    min_rtt_ms: float | None = None
    signs: list[str] = field(default_factory=list)

    @property
    def exit_status(self) -> ExitStatus:
        if self.found:
            return ExitStatus.FOUND
        return ExitStatus.CLEAN if self.first_hop == "safe" else ExitStatus.INCONCLUSIVE


def diagnose(samples: Samples, control: Control) -> Diagnosis:
    """The verdict about the first hop, with signs of what is behind it."""
    line_ns, problem = control.line()
    figures = [_figures(arm, samples.of(arm), line_ns) for arm in ARMS]
    result = Diagnosis("unknown", [], figures, control)
    rtts = [sample.min_rtt_us for sample in samples.taken if sample.min_rtt_us]
    result.min_rtt_ms = min(rtts) / 1000 if rtts else None
    if _refused(result, samples):
        return result
    if problem:
        result.why.append(f"{problem}, so a stall could not be told from none")
        return result
    if any(len(samples.of(arm)) < FEWEST for arm in ARMS):
        result.why.append("too few requests were answered")
        return result
    _first_hop(result, samples, line_ns)
    _server(result, samples, line_ns)
    _behind(result, samples, line_ns)
    return result


def _refused(result: Diagnosis, samples: Samples) -> bool:
    """Whether the statuses decide: a server that takes a request in one write only, or none at all."""
    share = {
        arm: 1.0 if arm.key in samples.refused_arms else _share(samples.of(arm), lambda sample: sample.status >= 400)
        for arm in ARMS
        if samples.of(arm) or arm.key in samples.refused_arms
    }
    if len(share) < len(ARMS):
        return False
    if all(share[arm] >= MOST_OF for arm in (ONE, QUICK)):
        result.why.append("the server refused the requests (see the statuses); it may refuse before it has read them")
        return True
    if any(share[arm] >= MOST_OF for arm in (SPLIT, SPLIT_NODELAY)) and all(share[arm] <= FEW_OF for arm in (ONE, QUICK)):
        result.first_hop, result.found = "REFUSES", True
        how = next(iter(samples.refused_arms.values()), "") or ", ".join(
            sorted({str(sample.status) for sample in samples.of(SPLIT) if sample.status >= 400})
        )
        result.why.append(
            f"the server refuses a request that comes in two pieces ({how}) and accepts it in one: it reads once, and takes what "
            "came for the whole. Small devices and hand-written servers do so. A client that splits its requests fails there, "
            "now and then or always. The cure is one write per request, or a server that reads on"
        )
        return True
    return False


def nothing_measured(why: str) -> Diagnosis:
    """Too little was sent for a verdict."""
    return Diagnosis("unknown", [why], [_figures(arm, [], 0.0) for arm in ARMS], Control([], []))


def _share(samples: list[Sample], holds: Callable[[Sample], bool]) -> float:
    return sum(map(holds, samples)) / len(samples)


def _figures(arm: Arm, samples: list[Sample], line_ns: float) -> ArmFigures:
    held = [sample.held for sample in samples if sample.held is not None]
    causes = Counter(sample.cause(line_ns) for sample in samples)
    return ArmFigures(
        arm,
        len(samples),
        _ms(sample.total for sample in samples),
        _ms(sample.wait for sample in samples),
        _ms(sample.tail for sample in samples),
        _ms(held) if held else None,
        max((sample.held_bytes or 0 for sample in samples), default=0) if held else None,
        causes.most_common(1)[0][0] if causes else None,
        sum(sample.status >= 400 for sample in samples),
    )


def _ms(values: Iterable[int]) -> float:
    numbers = list(values)
    return round(median(numbers) / 1e6, 3) if numbers else 0.0


def _first_hop(result: Diagnosis, samples: Samples, line_ns: float) -> None:
    """EXPOSED when the kernel held most of the split requests for long, and Nagle's algorithm was why."""
    split, single = samples.of(SPLIT), samples.of(ONE)
    seen = all(sample.held is not None for sample in split)
    if not seen:
        _by_times(result, split, single, line_ns)
        return
    prompt = [sample for sample in split if sample.late < line_ns / 2]
    if len(prompt) < max(FEWEST, len(split) // 2):
        result.why.append(
            f"this machine was too busy: in {len(split) - len(prompt)} of {len(split)} split requests it ran something else "
            "between the writes"
        )
        return
    split = prompt
    held = _share(split, lambda sample: (sample.held or 0) >= line_ns)
    causes = Counter(sample.cause(line_ns) for sample in split if (sample.held or 0) >= line_ns)
    if held <= FEW_OF:
        result.first_hop = "safe"
        typical = median(sample.held or 0 for sample in split) / 1e6
        result.why.append(f"the second piece of a split request left after {typical:.1f} ms: the first hop acknowledges at once")
        return
    cause = causes.most_common(1)[0][0]
    if held < MOST_OF:
        result.why.append(f"{held:.0%} of the split requests were held: neither most of them nor few")
        return
    if cause != "nagle_delayed_ack":
        result.why.append(f"split requests were held, but by another cause: {cause}")
        return
    result.first_hop, result.found = "EXPOSED", True
    typical = median(sample.held or 0 for sample in split) / 1e6
    count = max(sample.held_bytes or 0 for sample in split)
    result.ack_delay_ms = round(max(0.0, typical - (result.min_rtt_ms or 0.0)), 1)
    rtt = f"{result.min_rtt_ms:.1f} ms round trip and " if result.min_rtt_ms is not None else ""
    result.why.append(
        f"{count} bytes stayed in this machine for {typical:.1f} ms, held by Nagle's algorithm until the first piece was "
        f"acknowledged: {rtt}{result.ack_delay_ms:.1f} ms of delayed ACK"
    )


def _by_times(result: Diagnosis, split: list[Sample], single: list[Sample], line_ns: float) -> None:
    """Without the kernel's evidence: the times alone, in pairs of the same round."""
    lost = [one.total - other.total for one, other in zip(split, single, strict=False)]
    share = sum(loss >= line_ns for loss in lost) / len(lost)
    if share >= MOST_OF:
        result.first_hop, result.found = "EXPOSED", True
        result.why.append(f"split requests took {median(lost) / 1e6:.1f} ms longer; who held them cannot be seen on this system")
    elif share <= FEW_OF:
        result.first_hop = "safe"
        result.why.append(
            f"split requests took {median(lost) / 1e6:.1f} ms longer; the kernel's evidence cannot be read on this system"
        )
    else:
        result.why.append("the times differ too much from request to request")


def _server(result: Diagnosis, samples: Samples, line_ns: float) -> None:
    """An answer in two pieces, the second of which waits for this machine's delayed ACK: only quick ACKs end that."""
    late = _share(samples.of(ONE), lambda sample: sample.tail >= line_ns)
    quick = _share(samples.of(QUICK), lambda sample: sample.tail >= line_ns)
    if late >= MOST_OF and quick <= FEW_OF:
        result.server_splits = result.found = True
        tail = median(sample.tail for sample in samples.of(ONE)) / 1e6
        result.signs.append(
            f"the first hop splits its answer with Nagle on: its second piece came {tail:.1f} ms late, and at once with "
            "quick ACKs. The cure is TCP_NODELAY, or one write, at the server"
        )


def _behind(result: Diagnosis, samples: Samples, line_ns: float) -> None:
    """Signs of a stall behind the first hop. They prove nothing: a server may be slow for as long."""
    stall_ns = 2 * line_ns
    rtt_ns = (result.min_rtt_ms or 0.0) * 1e6
    # What a request in two writes took beyond one in one write, both with this machine's ACKs as they come: quick ones also
    # end the wait for a server that splits its answer. With TCP_NODELAY this machine held nothing of it. The one with Nagle
    # must show it, too, held here or there: a busy machine is late in one of them, and by any length.
    typical = median(sample.total for sample in samples.of(ONE))
    relayed = (
        _share(samples.of(SPLIT_NODELAY), _later_by_a_stall(typical, stall_ns)) >= MOST_OF
        and _share(samples.of(SPLIT), lambda sample: sample.total - typical >= LIKE[0] * stall_ns) >= MOST_OF
    )
    single = [*samples.of(ONE), *samples.of(QUICK)]
    like_an_ack = _share(single, lambda sample: LIKE[0] * stall_ns <= sample.wait - rtt_ns <= LIKE[1] * stall_ns)
    if relayed:
        more = median(sample.total - (sample.held or 0) for sample in samples.of(SPLIT_NODELAY)) - typical
        result.first_hop, result.found = "EXPOSED", True
        result.signs.append(
            f"a request in two writes takes {more / 1e6:.1f} ms more than in one, also with TCP_NODELAY, and this machine held "
            "nothing: a relay on the way has Nagle on. One write cures it, TCP_NODELAY at the client does not"
        )
    elif like_an_ack >= MOST_OF:
        waited = median(sample.wait for sample in single)
        result.signs.append(
            f"even one write waits {waited / 1e6:.1f} ms, steadily, about as long as a delayed ACK takes: perhaps a stall "
            "behind the first hop, perhaps a server that needs as long. Run the doctor on the first hop's machine"
        )


def _later_by_a_stall(typical_ns: float, stall_ns: float) -> Callable[[Sample], bool]:
    return lambda sample: LIKE[0] * stall_ns <= sample.total - (sample.held or 0) - typical_ns <= LIKE[1] * stall_ns
