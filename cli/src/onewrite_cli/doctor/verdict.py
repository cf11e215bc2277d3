"""From samples to findings: an ordered list, each with the share of requests that show it.

The lab's stall rule draws the line between short and long from the control of the same run: the same split request,
sent with Nagle on over loopback to a server that delays its ACK. Decisions are by the share of samples, not by a mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from onewrite_lab.probe import Exchange
from onewrite_lab.stall import CONTROL_SHARE, control_line, median

from onewrite_cli.common.exit_status import ExitStatus
from onewrite_cli.common.stalls import Controls
from onewrite_cli.doctor.measure import ARMS, ONE, QUICK, SPLIT, SPLIT_NODELAY, Samples

__all__ = ["FEWEST", "Diagnosis", "Finding", "cause_of", "diagnose", "failures_of"]

MOST_OF = CONTROL_SHARE  # of the samples: the share that makes a control stalled
FEW_OF = 0.25  # so few late ones a busy machine makes, too
FEWEST = 5
LIKE = (0.7, 1.5)  # between these times the control's stall is about as long as that
LEAST_MORE_NS, SPREADS = 5_000_000, 6  # the least extra time of two writes, and so many median deviations of one write
SEVERAL = 3  # failures of one kind of request and none of the other are no chance
TOO_BUSY = "this machine was too busy: in {} of {} split requests it ran something else between the writes; say more --samples"

ONE_WRITE = "one write per request"
NODELAY = "TCP_NODELAY, or one write per request. `onewrite check -- YOUR CLIENT {url}` says whether yours does that"
READ_ON = "the server: read on until the request is whole, from what came with its head"


@dataclass(frozen=True)
class Finding:
    """`count` of `of` requests show it."""

    word: str  # EXPOSED, RELAY, SPLIT ANSWER, REFUSES SPLIT or REFUSES WHOLE
    headline: str
    why: str
    count: int
    of: int
    cure: str


@dataclass
class Diagnosis:
    """Without findings it is safe, or unknown for the reason in `unknown`."""

    findings: list[Finding] = field(default_factory=list)
    unknown: str = ""
    safe: str = ""
    min_rtt_ms: float | None = None
    ack_delay_ms: float | None = None
    line_ns: float = float("inf")

    @property
    def verdict(self) -> str:
        """The word of the first finding, or safe, or unknown."""
        return self.findings[0].word if self.findings else "unknown" if self.unknown else "safe"

    @property
    def headline(self) -> str:
        return self.findings[0].headline if self.findings else self.unknown or self.safe

    @property
    def exit_status(self) -> ExitStatus:
        if self.findings:
            return ExitStatus.FOUND
        return ExitStatus.INCONCLUSIVE if self.unknown else ExitStatus.CLEAN


def diagnose(samples: Samples, controls: Controls, *, too_large: bool = False) -> Diagnosis:
    """What was found, in order: refusals, then a relay, then the first hop, then the server's answer."""
    line_ns, _, problem = control_line(controls.split_ns, controls.whole_ns)
    result = Diagnosis(line_ns=line_ns)
    rtts = [one.min_rtt_us for one in samples.of(*ARMS) if one.min_rtt_us]
    result.min_rtt_ms = min(rtts) / 1000 if rtts else None
    refused, unknown = _refused(samples)
    if refused or unknown:
        result.findings, result.unknown = [refused] if refused else [], unknown
    elif problem:
        result.unknown = f"{problem}, so there is no line between a stall and none"
    elif any(len(samples.of(arm)) < FEWEST for arm in ARMS):
        result.unknown = "too few requests were answered"
    else:
        for judge in (_first_hop, _relay, _answer):
            judge(result, samples)
        if too_large and not result.findings:
            what = "the second piece is larger than a segment of an Ethernet, which Nagle's algorithm does not hold"
            result.unknown = f"{what}: say --post-bytes 200"
    return result


def failures_of(samples: Samples, *keys: str) -> tuple[int, int]:
    """How many requests of these arms failed or got a status of 400 and above, and of how many."""
    taken = [one for key in keys for one in samples.taken[key]]
    failed = sum(len(samples.failures[key]) for key in keys)
    return failed + sum(one.status >= 400 for one in taken), failed + len(taken)


def _refused(samples: Samples) -> tuple[Finding | None, str]:
    """That a server takes requests only in one write, or only in two; or why nothing can be told."""
    ways = (ONE, QUICK), (SPLIT, SPLIT_NODELAY)
    one, two = (failures_of(samples, *(arm.key for arm in way)) for way in ways)
    said = []
    for name, way in zip(("in one write", "in two writes"), ways, strict=True):
        outcomes = Counter([*(f"status {made.status}" for made in samples.of(*way)), *samples.failed(*way)])
        said.append(f"{name}: " + (", ".join(f"{what} ({count})" for what, count in outcomes.most_common(3)) or "nothing sent"))
    seen = "; ".join(said)
    if _is_refused_beside(two, one):
        why = f"{seen}. So does a server that reads once and takes what came for the whole, as small devices do"
        headline = "the server takes a request in one write, and refuses it in two"
        return Finding("REFUSES SPLIT", headline, why, *two, f"{ONE_WRITE}; {READ_ON}"), ""
    if _is_refused_beside(one, two):
        why = f"{seen}. So does a server that drops a body which comes in the same read as its head: onewrite breaks it"
        headline = "the server takes a request in two writes, and refuses it in one: one write breaks it"
        cure = f"{READ_ON}; until then no onewrite in its clients (ONEWRITE_OBSERVE=true only measures)"
        return Finding("REFUSES WHOLE", headline, why, *one, cure), ""
    refused = one[0] >= MOST_OF * max(1, one[1])
    return None, f"the server refused the requests, {seen}; it may refuse before it has read them" if refused else ""


def _is_refused_beside(this: tuple[int, int], other: tuple[int, int]) -> bool:
    """Most of it where little of the other is; or some of it, and the other never."""
    (bad, of), (bad_other, of_other) = this, other
    some = bad >= max(SEVERAL, of // 10) and bad_other == 0
    most = bad >= MOST_OF * max(1, of) and bad_other <= FEW_OF * max(1, of_other)
    return bad_other < of_other and (some or most)


def cause_of(made: Exchange, arm: str, line_ns: float) -> str | None:
    """The name of a wait longer than the line, in the order of the contract (TIME-26)."""
    if made.held_ns is None or max(made.wait_ns, made.held_ns, made.tail_ns) < line_ns:
        return None
    if made.held_ns < line_ns:
        return "server"
    if made.rwnd_limited_ns * 2 > made.held_ns:
        return "peer_window"
    if made.retransmits:
        return "retransmit"
    return "nagle_delayed_ack" if arm == SPLIT.key else None


def _late(samples: list[Exchange], holds: Callable[[Exchange], bool]) -> int:
    return sum(map(holds, samples))


def _first_hop(result: Diagnosis, samples: Samples) -> None:
    """EXPOSED when the kernel held split requests for long by Nagle's algorithm, of which a quarter may be chance.

    Without the kernel's evidence the times alone decide.
    """
    split, line_ns = samples.of(SPLIT), result.line_ns
    whole_ns = median(one.total_ns for one in samples.of(ONE))
    prompt = [one for one in split if one.late_ns < line_ns / 2]
    if len(prompt) < max(FEWEST, len(split) // 2):
        result.unknown = TOO_BUSY.format(len(split) - len(prompt), len(split))
        return
    blind = any(one.held_ns is None for one in split)
    lost = {id(one): one.total_ns - whole_ns if one.held_ns is None else one.held_ns for one in prompt}
    held = [one for one in prompt if lost[id(one)] >= line_ns]
    causes = Counter(cause_of(one, SPLIT.key, line_ns) for one in held)
    cause = causes.most_common(1)[0][0] if held else None
    if len(held) <= FEW_OF * len(prompt):
        left_ms = median(lost.values()) / 1e6
        result.safe = f"the second piece of a split request left after {left_ms:.1f} ms, so the first hop acknowledges at once"
        return
    if not blind and cause != "nagle_delayed_ack":
        result.unknown = f"split requests were held, but by another cause: {cause}"
        return
    typical = median(lost[id(one)] for one in held) / 1e6
    share = "" if len(held) >= MOST_OF * len(prompt) else f", in {len(held)} of {len(prompt)} requests"
    why = f"split requests took {typical:.1f} ms longer; this system does not show what held them"
    if not blind:
        count = max(one.held_bytes or 0 for one in held)
        result.ack_delay_ms = round(max(0.0, typical - (result.min_rtt_ms or 0.0)), 1)
        rtt = f"{result.min_rtt_ms:.1f} ms round trip and " if result.min_rtt_ms is not None else ""
        why = (
            f"{count} bytes stayed in this machine for {typical:.1f} ms, held by Nagle's algorithm until the first piece was "
            f"acknowledged: {rtt}{result.ack_delay_ms:.1f} ms of delayed ACK"
        )
    headline = f"a request in two writes waits {typical:.1f} ms at the first hop{share}"
    result.findings.append(Finding("EXPOSED", headline, why, len(held), len(prompt), NODELAY))


def _relay(result: Diagnosis, samples: Samples) -> None:
    """RELAY when two writes take longer also with TCP_NODELAY, while this machine holds nothing.

    Both kinds of split requests must show the extra time, and those with TCP_NODELAY steadily: a busy machine delays by any
    length, and only one of the arms. How requests in one write vary says how much is chance.
    """
    whole = [one.total_ns for one in samples.of(ONE)]
    typical = median(whole)
    shown_ns = max(LEAST_MORE_NS, SPREADS * median(abs(total - typical) for total in whole))
    split = samples.of(SPLIT_NODELAY)
    prompt = [one for one in split if one.late_ns < LEAST_MORE_NS]
    if len(prompt) < max(FEWEST, len(split) // 2):
        result.unknown = result.unknown or TOO_BUSY.format(len(split) - len(prompt), len(split))
        return
    more = [one.total_ns - (one.held_ns or 0) - typical for one in prompt]
    slower = sum(more_ns >= shown_ns for more_ns in more)
    more_ms = median(more) / 1e6
    nagle_too = _late(samples.of(SPLIT), lambda one: one.total_ns - typical >= shown_ns) >= MOST_OF * len(samples.of(SPLIT))
    near_ns = max(LEAST_MORE_NS, median(more) / 4)
    steady = sum(abs(more_ns - median(more)) <= near_ns for more_ns in more) >= MOST_OF * len(more)
    if slower < MOST_OF * len(more) or not nagle_too or not steady:
        if more_ms * 1e6 >= LEAST_MORE_NS and not result.findings:
            near = "which is too near to how requests in one write vary: try again with more --samples"
            result.unknown = result.unknown or f"a request in two writes took {more_ms:.1f} ms longer, {near}"
        return
    is_stall = LIKE[0] * 2 * result.line_ns <= median(more) <= LIKE[1] * 2 * result.line_ns
    who = "a relay on the way" if is_stall else "the server, or a relay on the way,"
    why = (
        f"a request in two writes takes {more_ms:.1f} ms more than in one, also with TCP_NODELAY, and this machine held nothing: "
        + ("a relay on the way has Nagle on" if is_stall else "a relay whose peer delays its ACKs, or a slow read of two pieces")
    )
    cure = f"{ONE_WRITE}: TCP_NODELAY at the client does not end it"
    headline = f"{who} makes a request in two writes wait {more_ms:.1f} ms"
    result.findings.insert(0, Finding("RELAY", headline, why, slower, len(more), cure))  # its cure ends the first hop's, too


def _answer(result: Diagnosis, samples: Samples) -> None:
    """SPLIT ANSWER: its second piece waits for this machine's delayed ACK, and only quick ACKs end that."""
    one, quick = samples.of(ONE), samples.of(QUICK)
    late = [made for made in one if made.tail_ns >= result.line_ns]
    if len(late) < MOST_OF * len(one) or _late(quick, lambda made: made.tail_ns >= result.line_ns) > FEW_OF * len(quick):
        return
    tail = median(made.tail_ns for made in late) / 1e6
    why = f"the first hop splits its answer with Nagle on: its rest came {tail:.1f} ms late, and at once with quick ACKs"
    cure = "at the server: TCP_NODELAY, or one write per answer"
    result.findings.append(
        Finding("SPLIT ANSWER", f"the server's answer stalls for {tail:.1f} ms", why, len(late), len(one), cure)
    )
