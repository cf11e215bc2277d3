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

from onewrite_cli.common.exit_status import ExitStatus
from onewrite_cli.doctor.connection import ARMS, ONE, QUICK, SPLIT, SPLIT_NODELAY, Arm
from onewrite_cli.doctor.measure import Sample, Samples

__all__ = ["FEWEST", "ArmFigures", "Control", "Diagnosis", "diagnose", "nothing_measured"]

MOST_OF = CONTROL_SHARE  # a path is exposed at the share that makes a control stalled
FEW_OF = 0.25
FEWEST = 5
LIKE = (0.7, 1.5)  # between these times the control's stall is about as long as that
SEVERAL = 3  # failures of one kind of request and none of the other are no chance

ONE_WRITE = ("one write per request, and TCP_NODELAY. `onewrite check -- YOUR CLIENT {url}` says whether yours does that",)
IN_PIECES = (
    "keep requests to this host in two writes: give its client of onewrite the option coalesce_disabled, or its process "
    "ONEWRITE_COALESCE_DISABLED=true. TCP_NODELAY stays on, so that the second piece does not wait",
    "the server: read on until Content-Length, from what came with the head",
)


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
    refused: int = 0  # failures, and statuses of 400 and above


@dataclass
class Control:
    """Requests in two writes with Nagle on, and in one write, on loopback in the same run."""

    split: list[Sample]
    single: list[Sample]

    @property
    def split_ms(self) -> float:
        return _ms(sample.total for sample in self.split)

    @property
    def single_ms(self) -> float:
        return _ms(sample.total for sample in self.single)

    def line(self) -> tuple[float, str | None]:
        """The least time in ns that is a stall, and why there is no such line or None.

        Judged by how long the kernel held the bytes, where that is seen: a busy machine changes it less than the times.
        """
        split_ns, single_ns = (
            [sample.total if sample.held is None else sample.held for sample in samples] for samples in (self.split, self.single)
        )
        line_ns, _, problem = control_line(split_ns, single_ns)
        return line_ns, problem


@dataclass
class Diagnosis:
    """`first_hop` is EXPOSED, REFUSES SPLIT, REFUSES WHOLE, DIFFERS, safe or unknown; `headline` says it in words."""

    first_hop: str
    headline: str
    why: list[str]
    arms: list[ArmFigures]
    control: Control
    found: bool = False
    server_splits: bool = False
    ack_delay_ms: float | None = None
    min_rtt_ms: float | None = None
    signs: list[str] = field(default_factory=list)
    cures: tuple[str, ...] = ()

    def finds(self, first_hop: str, headline: str, why: str, cures: tuple[str, ...] = ONE_WRITE) -> None:
        self.first_hop, self.headline, self.cures, self.found = first_hop, headline, cures, True
        self.why.append(why)

    @property
    def exit_status(self) -> ExitStatus:
        if self.found:
            return ExitStatus.FOUND
        return ExitStatus.CLEAN if self.first_hop == "safe" else ExitStatus.INCONCLUSIVE


def diagnose(samples: Samples, control: Control, *, too_large: bool = False) -> Diagnosis:
    """The verdict about the first hop, with signs of a stall behind it."""
    line_ns, problem = control.line()
    result = Diagnosis("unknown", "", [], [_figures(arm, samples, line_ns) for arm in ARMS], control)
    rtts = [sample.min_rtt_us for sample in samples.taken if sample.min_rtt_us]
    result.min_rtt_ms = min(rtts) / 1000 if rtts else None
    if not _refused(result, samples):
        if problem:
            result.why.append(f"{problem}, so there is no line between a stall and none")
        elif any(len(samples.of(arm)) < FEWEST for arm in ARMS):
            result.why.append("too few requests were answered")
        else:
            _first_hop(result, samples, line_ns)
            if too_large and result.first_hop == "safe":
                result.first_hop, result.headline = "unknown", ""
                result.why = [
                    "the second piece is larger than a segment of an Ethernet, which Nagle's algorithm does not hold: "
                    "say --post-bytes 200"
                ]
            _server(result, samples, line_ns)
            _behind(result, samples, line_ns)
    if result.first_hop == "unknown" and not result.headline:
        result.headline = result.why[0]
    return result


def _refused(result: Diagnosis, samples: Samples) -> bool:
    """True if the verdict is that a server takes requests only in one write, only in two writes, or not at all."""
    one: tuple[Arm, ...] = (ONE, QUICK)
    two: tuple[Arm, ...] = (SPLIT, SPLIT_NODELAY)
    bad = {arms: sum(_bad(samples, arm) for arm in arms) for arms in (one, two)}
    answered = {arms: sum(max(samples.answered[arm.key], len(samples.of(arm))) for arm in arms) for arms in (one, two)}
    share = {arms: bad[arms] / max(1, answered[arms] + _failed(samples, arms)) for arms in (one, two)}

    def against(these: tuple[Arm, ...], those: tuple[Arm, ...]) -> bool:
        now_and_then = bad[these] >= max(SEVERAL, answered[these] // 10) and bad[those] == 0
        return bool(answered[those]) and (now_and_then or (share[these] >= MOST_OF and share[those] <= FEW_OF))

    seen = f"in one write: {_seen(samples, one)}; in two writes: {_seen(samples, two)}"
    if against(two, one):
        result.finds(
            "REFUSES SPLIT",
            "the server takes a request in one write, and refuses it in two",
            f"{seen}. So does a server that reads once and takes what came for the whole, as small devices and hand-written ones "
            "do. A client that splits its requests fails there, now and then or always",
            ("one write per request", "the server: read on until the request is whole"),
        )
    elif against(one, two):
        result.finds(
            "REFUSES WHOLE",
            "the server takes a request in two writes, and refuses it in one: one write breaks it",
            f"{seen}. So does a server that drops a body which comes in the same read as its head, and waits for it: onewrite "
            "breaks it",
            IN_PIECES,
        )
    elif share[one] >= MOST_OF:
        result.why.append(f"the server refused the requests, {seen}; it may refuse before it has read them")
    else:
        answers = {arms: Counter((sample.status, *sample.body) for sample in samples.of(*arms)) for arms in (one, two)}
        if not all(answers.values()):
            return False
        (first, _), (second, often) = (answers[arms].most_common(1)[0] for arms in (one, two))
        # Now and then a server reads both pieces at once.
        steady = (
            set(answers[one]) == {first} and set(answers[two]) <= {first, second} and often >= MOST_OF * len(samples.of(*two))
        )
        if first == second or not steady:
            return False
        result.finds(
            "DIFFERS",
            "the server answers a request in one write otherwise than in two",
            f"in one write: {first[0]} with {first[1]} bytes; in two writes: {second[0]} with {second[1]} bytes, steadily. "
            "It probably loses what came in the same read as the head, or after it: compare the answers",
            ("compare the two answers. Where one write loses the body: " + IN_PIECES[0], IN_PIECES[1]),
        )
    return True


def _failed(samples: Samples, arms: tuple[Arm, ...]) -> int:
    return sum(len(samples.failures[arm.key]) for arm in arms if arm.key in samples.failures)


def _bad(samples: Samples, arm: Arm) -> int:
    return _failed(samples, (arm,)) + sum(sample.status >= 400 for sample in samples.of(arm))


def _seen(samples: Samples, arms: tuple[Arm, ...]) -> str:
    """The outcomes of these arms' requests, the most frequent first."""
    counts = Counter(f"status {sample.status}" for sample in samples.of(*arms))
    for arm in arms:
        counts.update(samples.failures.get(arm.key, ()))
    return ", ".join(f"{what} ({count})" for what, count in counts.most_common(3)) or "nothing was sent"


def nothing_measured(why: str) -> Diagnosis:
    """Too little was sent for a verdict."""
    none = Samples()
    return Diagnosis("unknown", why, [why], [_figures(arm, none, 0.0) for arm in ARMS], Control([], []))


def _share(samples: list[Sample], holds: Callable[[Sample], bool]) -> float:
    return sum(map(holds, samples)) / len(samples)


def _figures(arm: Arm, all_samples: Samples, line_ns: float) -> ArmFigures:
    samples = all_samples.of(arm)
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
        _bad(all_samples, arm),
    )


def _ms(values: Iterable[int]) -> float:
    numbers = list(values)
    return round(median(numbers) / 1e6, 3) if numbers else 0.0


def _first_hop(result: Diagnosis, samples: Samples, line_ns: float) -> None:
    """EXPOSED when the kernel held most of the split requests for long, and Nagle's algorithm was why."""
    split, single = samples.of(SPLIT), samples.of(ONE)
    if any(sample.held is None for sample in split):
        _by_times(result, split, single, line_ns)
        return
    prompt = [sample for sample in split if sample.late < line_ns / 2]
    if len(prompt) < max(FEWEST, len(split) // 2):
        result.why.append(
            f"this machine was too busy: in {len(split) - len(prompt)} of {len(split)} split requests it ran something else "
            "between the writes"
        )
        return
    typical = median(sample.held or 0 for sample in prompt) / 1e6
    held = [sample for sample in prompt if (sample.held or 0) >= line_ns]
    if len(held) <= FEW_OF * len(prompt):
        result.first_hop = "safe"
        result.headline = "the first hop acknowledges at once, so a request in two writes does not wait"
        result.why.append(f"the second piece of a split request left after {typical:.1f} ms")
        return
    cause = Counter(sample.cause(line_ns) for sample in held).most_common(1)[0][0]
    if len(held) < MOST_OF * len(prompt):
        result.why.append(f"{len(held)} of {len(prompt)} split requests were held: neither most of them nor few")
    elif cause != "nagle_delayed_ack":
        result.why.append(f"split requests were held, but by another cause: {cause}")
    else:
        count = max(sample.held_bytes or 0 for sample in split)
        result.ack_delay_ms = round(max(0.0, typical - (result.min_rtt_ms or 0.0)), 1)
        rtt = f"{result.min_rtt_ms:.1f} ms round trip and " if result.min_rtt_ms is not None else ""
        result.finds(
            "EXPOSED",
            f"a request in two writes waits {typical:.1f} ms at the first hop",
            f"{count} bytes stayed in this machine for {typical:.1f} ms, held by Nagle's algorithm until the first piece was "
            f"acknowledged: {rtt}{result.ack_delay_ms:.1f} ms of delayed ACK",
        )


def _by_times(result: Diagnosis, split: list[Sample], single: list[Sample], line_ns: float) -> None:
    """Without the kernel's evidence: the times alone, in pairs of the same round."""
    lost = [one.total - other.total for one, other in zip(split, single, strict=False)]
    share = sum(loss >= line_ns for loss in lost) / len(lost)
    typical = f"{median(lost) / 1e6:.1f} ms"
    if share >= MOST_OF:
        why = f"split requests took {typical} longer; this system does not show what held them"
        result.finds("EXPOSED", f"a request in two writes takes {typical} longer", why)
    elif share <= FEW_OF:
        result.first_hop, result.headline = "safe", f"a request in two writes takes {typical} longer, which is no stall"
        result.why.append("the kernel's evidence cannot be read on this system")
    else:
        result.why.append("the times differ too much from request to request")


def _server(result: Diagnosis, samples: Samples, line_ns: float) -> None:
    """An answer in two pieces, the second of which waits for this machine's delayed ACK: only quick ACKs end that."""
    late = _share(samples.of(ONE), lambda sample: sample.tail >= line_ns)
    quick = _share(samples.of(QUICK), lambda sample: sample.tail >= line_ns)
    if late >= MOST_OF and quick <= FEW_OF:
        result.server_splits = result.found = True
        tail = median(sample.tail for sample in samples.of(ONE)) / 1e6
        result.headline = "; ".join(filter(None, (result.headline, f"the server's answer stalls for {tail:.1f} ms")))
        result.cures += ("at the server: TCP_NODELAY, or one write per answer",)
        result.signs.append(
            f"the first hop splits its answer with Nagle on: its rest came {tail:.1f} ms late, and at once with quick ACKs"
        )


def _behind(result: Diagnosis, samples: Samples, line_ns: float) -> None:
    """Signs of a stall behind the first hop. They prove nothing: a server may be slow for as long."""
    stall_ns = 2 * line_ns
    rtt_ns = (result.min_rtt_ms or 0.0) * 1e6
    # The extra time of a request in two writes, both with delayed ACKs: quick ACKs would also end the wait for a server that
    # splits its answer. With TCP_NODELAY this machine held no bytes. The arm with Nagle on must show the extra time, too:
    # a busy machine delays only one of the arms, by any length.
    typical = median(sample.total for sample in samples.of(ONE))
    relayed = (
        _share(samples.of(SPLIT_NODELAY), _later_by_a_stall(typical, stall_ns)) >= MOST_OF
        and _share(samples.of(SPLIT), lambda sample: sample.total - typical >= LIKE[0] * stall_ns) >= MOST_OF
    )
    single = samples.of(ONE, QUICK)
    like_an_ack = _share(single, lambda sample: LIKE[0] * stall_ns <= sample.wait - rtt_ns <= LIKE[1] * stall_ns)
    if relayed:
        more = (median(sample.total - (sample.held or 0) for sample in samples.of(SPLIT_NODELAY)) - typical) / 1e6
        result.first_hop, result.found = "EXPOSED", True
        result.headline = f"a relay on the way makes a request in two writes wait {more:.1f} ms"
        result.cures = ("one write per request: TCP_NODELAY at the client does not end it", *result.cures[1:])
        result.signs.append(
            f"a request in two writes takes {more:.1f} ms more than in one, also with TCP_NODELAY, and this machine held "
            "nothing: a relay on the way has Nagle on"
        )
    elif like_an_ack >= MOST_OF:
        waited = median(sample.wait for sample in single)
        result.signs.append(
            f"even one write waits {waited / 1e6:.1f} ms, steadily, about as long as a delayed ACK takes: perhaps a stall "
            "behind the first hop, perhaps a server that needs as long. Run the doctor on the first hop's machine"
        )


def _later_by_a_stall(typical_ns: float, stall_ns: float) -> Callable[[Sample], bool]:
    return lambda sample: LIKE[0] * stall_ns <= sample.total - (sample.held or 0) - typical_ns <= LIKE[1] * stall_ns
