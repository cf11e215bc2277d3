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

__all__ = ["FEWEST", "ArmFigures", "Diagnosis", "diagnose", "nothing_measured"]

MOST_OF = CONTROL_SHARE  # a path is exposed at the share that makes a control stalled
FEW_OF = 0.25
FEWEST = 5
LIKE = (0.7, 1.5)  # between these times the control's stall is about as long as that
LEAST_MORE_NS, SPREADS = 5_000_000, 6  # the least extra time of two writes, and so many median deviations of one write
CORK_NS = (180_000_000, 240_000_000)  # MSG_MORE and TCP_CORK give up after 200 ms (tcp(7))
SEVERAL = 3  # failures of one kind of request and none of the other are no chance
TOO_BUSY = "this machine was too busy: in {} of {} split requests it ran something else between the writes"

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
class Diagnosis:
    """`first_hop` is EXPOSED, REFUSES SPLIT, REFUSES WHOLE, DIFFERS, safe or unknown; `headline` says it in words."""

    first_hop: str
    headline: str
    why: list[str]
    arms: list[ArmFigures]
    control: list[ArmFigures]  # two writes with Nagle on, and one write, on loopback in the same run
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


def diagnose(samples: Samples, control: Samples, *, too_large: bool = False) -> Diagnosis:
    """The verdict about the first hop, with signs of a stall behind it."""
    line_ns, problem = _line(control)
    result = Diagnosis("unknown", "", [], *_all_figures(samples, control, line_ns))
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


def nothing_measured(why: str) -> Diagnosis:
    """Too little was sent for a verdict."""
    return Diagnosis("unknown", why, [why], *_all_figures(Samples(), Samples(), 0.0))


def _line(control: Samples) -> tuple[float, str | None]:
    """The least time in ns that is a stall, and why there is no such line or None.

    Judged by how long the kernel held the bytes, where that is seen: a busy machine changes it less than the times.
    """
    split_ns, single_ns = (
        [sample.total if sample.held is None else sample.held for sample in control.of(arm)] for arm in (SPLIT, ONE)
    )
    line_ns, _, problem = control_line(split_ns, single_ns)
    return line_ns, problem


class _Way:
    """What became of the requests in one write, or of those in two."""

    def __init__(self, samples: Samples, *arms: Arm) -> None:
        self.taken, failures = samples.of(*arms), samples.failed(*arms)
        self.bad = len(failures) + sum(sample.status >= 400 for sample in self.taken)
        self.of = len(self.taken) + len(failures)
        self.share = self.bad / max(1, self.of)
        outcomes = Counter([*(f"status {sample.status}" for sample in self.taken), *failures])
        self.seen = ", ".join(f"{what} ({count})" for what, count in outcomes.most_common(3)) or "nothing was sent"
        self.answers = Counter((sample.status, *sample.body) for sample in self.taken)

    def is_refused_beside(self, other: _Way) -> bool:
        """Most of it where little of the other is; or some of it, and the other never."""
        some = self.bad >= max(SEVERAL, self.of // 10) and other.bad == 0
        return other.bad < other.of and (some or (self.share >= MOST_OF and other.share <= FEW_OF))


def _refused(result: Diagnosis, samples: Samples) -> bool:
    """True if the verdict is that a server takes requests only in one write, only in two writes, or not at all."""
    one, two = _Way(samples, ONE, QUICK), _Way(samples, SPLIT, SPLIT_NODELAY)
    seen = f"in one write: {one.seen}; in two writes: {two.seen}"
    if two.is_refused_beside(one):
        result.finds(
            "REFUSES SPLIT",
            "the server takes a request in one write, and refuses it in two",
            f"{seen}. So does a server that reads once and takes what came for the whole, as small devices and hand-written ones "
            "do. A client that splits its requests fails there, now and then or always",
            ("one write per request", "the server: read on until the request is whole"),
        )
    elif one.is_refused_beside(two):
        result.finds(
            "REFUSES WHOLE",
            "the server takes a request in two writes, and refuses it in one: one write breaks it",
            f"{seen}. So does a server that drops a body which comes in the same read as its head, and waits for it: onewrite "
            "breaks it",
            IN_PIECES,
        )
    elif one.share >= MOST_OF:
        result.why.append(f"the server refused the requests, {seen}; it may refuse before it has read them")
    elif differ := _differing_answers(one, two):
        (status, size, _), (other_status, other_size, _) = differ
        result.finds(
            "DIFFERS",
            "the server answers a request in one write otherwise than in two",
            f"in one write: {status} with {size} bytes; in two writes: {other_status} with {other_size} bytes, steadily. "
            "It probably loses what came in the same read as the head, or after it: compare the answers",
            ("compare the two answers. Where one write loses the body: " + IN_PIECES[0], IN_PIECES[1]),
        )
    return result.found or bool(result.why)


def _differing_answers(one: _Way, two: _Way) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
    """The answers (status, size, checksum) to one and to two writes, if they differ steadily."""
    if not one.answers or not two.answers:
        return None
    (first, _), (second, often) = (way.answers.most_common(1)[0] for way in (one, two))
    # Now and then a server reads both pieces at once.
    steady = set(one.answers) == {first} and set(two.answers) <= {first, second} and often >= MOST_OF * len(two.taken)
    return (first, second) if first != second and steady else None


def _share(samples: list[Sample], holds: Callable[[Sample], bool]) -> float:
    return sum(map(holds, samples)) / len(samples)


def _all_figures(samples: Samples, control: Samples, line_ns: float) -> tuple[list[ArmFigures], list[ArmFigures]]:
    return [_figures(arm, samples, line_ns) for arm in ARMS], [_figures(arm, control, line_ns) for arm in (SPLIT, ONE)]


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
        _Way(all_samples, arm).bad,
    )


def _ms(values: Iterable[int]) -> float:
    numbers = list(values)
    return round(median(numbers) / 1e6, 3) if numbers else 0.0


def _first_hop(result: Diagnosis, samples: Samples, line_ns: float) -> None:
    """EXPOSED when the kernel held most of the split requests for long, and Nagle's algorithm was why.

    Without the kernel's evidence the times alone decide.
    """
    split, single_ns = samples.of(SPLIT), median(sample.total for sample in samples.of(ONE))
    prompt = [sample for sample in split if sample.late < line_ns / 2]
    if len(prompt) < max(FEWEST, len(split) // 2):
        result.why.append(TOO_BUSY.format(len(split) - len(prompt), len(split)))
        return
    blind = any(sample.held is None for sample in split)
    lost = [sample.total - single_ns if sample.held is None else sample.held for sample in prompt]
    typical = median(lost) / 1e6
    stalled = [sample for sample, lost_ns in zip(prompt, lost, strict=True) if lost_ns >= line_ns]
    cause = Counter(sample.cause(line_ns) for sample in stalled).most_common(1)[0][0] if stalled else None
    if len(stalled) <= FEW_OF * len(prompt):
        result.first_hop = "safe"
        result.headline = "the first hop acknowledges at once, so a request in two writes does not wait"
        why = f"the second piece of a split request left after {typical:.1f} ms"
        if blind:
            why = f"a split request takes {typical:.1f} ms longer; the kernel's evidence cannot be read on this system"
        result.why.append(why)
    elif len(stalled) < MOST_OF * len(prompt):
        result.why.append(f"{len(stalled)} of {len(prompt)} split requests were late: neither most of them nor few")
    elif blind:
        why = f"split requests took {typical:.1f} ms longer; this system does not show what held them"
        result.finds("EXPOSED", f"a request in two writes takes {typical:.1f} ms longer", why)
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
    least, most = LIKE[0] * 2 * line_ns, LIKE[1] * 2 * line_ns
    rtt_ns = (result.min_rtt_ms or 0.0) * 1e6
    # The extra time of a request in two writes, both with delayed ACKs: quick ACKs would also end the wait for a server that
    # splits its answer. With TCP_NODELAY this machine held no bytes. The arm with Nagle on must show the extra time, too:
    # a busy machine delays only one of the arms, by any length. Other requests in one write say how much is chance.
    whole = [sample.total for sample in samples.of(ONE)]
    typical = median(whole)
    shown_ns = max(LEAST_MORE_NS, SPREADS * median(abs(total - typical) for total in whole))
    split = samples.of(SPLIT_NODELAY)
    prompt = [sample for sample in split if sample.late < LEAST_MORE_NS]
    busy = len(prompt) < max(FEWEST, len(split) // 2)
    more = [sample.total - (sample.held or 0) - typical for sample in prompt] or [0.0]
    slower = (
        not busy
        and sum(more_ns >= shown_ns for more_ns in more) >= MOST_OF * len(more)
        and _share(samples.of(SPLIT), lambda sample: sample.total - typical >= shown_ns) >= MOST_OF
    )
    single = samples.of(ONE, QUICK)
    if result.first_hop == "safe" and not slower and (busy or median(more) >= LEAST_MORE_NS):
        result.first_hop, result.headline = "unknown", ""
        took = f"a request in two writes took {median(more) / 1e6:.1f} ms longer"
        near = f"{took}, which is too near to how requests in one write vary: try again with more --samples"
        result.why = [TOO_BUSY.format(len(split) - len(prompt), len(split)) if busy else near]
    if slower:
        more_ms = median(more) / 1e6
        result.first_hop, result.found = "EXPOSED", True
        who = "a relay on the way" if least <= median(more) <= most else "the server, or a relay on the way,"
        result.headline = f"{who} makes a request in two writes wait {more_ms:.1f} ms"
        result.cures = ("one write per request: TCP_NODELAY at the client does not end it", *result.cures[1:])
        why = "a relay on the way has Nagle on"
        if who != "a relay on the way":
            why = "a relay whose peer delays its ACKs by that, or a server that waits for the second piece"
        result.signs.append(
            f"a request in two writes takes {more_ms:.1f} ms more than in one, also with TCP_NODELAY, and this machine held "
            f"nothing: {why}"
        )
    elif _share(single, lambda sample: CORK_NS[0] <= sample.wait - rtt_ns <= CORK_NS[1]) >= MOST_OF:
        result.signs.append(
            "even one write waits 200 ms, steadily, as long as MSG_MORE and TCP_CORK keep bytes: perhaps the server or a hop "
            "does not flush its answer, perhaps it needs as long"
        )
    elif _share(single, lambda sample: least <= sample.wait - rtt_ns <= most) >= MOST_OF:
        waited = median(sample.wait for sample in single)
        result.signs.append(
            f"even one write waits {waited / 1e6:.1f} ms, steadily, about as long as a delayed ACK takes: perhaps a stall "
            "behind the first hop, perhaps a server that needs as long. Run the doctor on the first hop's machine"
        )
