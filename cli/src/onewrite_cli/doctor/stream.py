"""`onewrite doctor --stream`: whether a hop bunches a stream of events, and which directive ends that.

The stream is read once, a few arrivals with delayed ACKs, as clients do, and a few with quick ACKs, which end whatever waits
for one, in turn: a source that changes its pace does so for both.
"""

from __future__ import annotations

import http.client
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from onewrite_lab.probe import Probe
from onewrite_lab.stall import CONTROL_SHARE, control_line, median

from onewrite_cli.common.controls import answer_controls
from onewrite_cli.common.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.common.report import as_json, header
from onewrite_cli.common.terminal import print_out, progress, table, wrapped
from onewrite_cli.doctor.command import DoctorOptions
from onewrite_cli.doctor.measure import connected, tls_context
from onewrite_cli.doctor.request import DoctorRequest, Route, confirm, read_body, route_to, with_open_address

__all__ = ["Arrivals", "Events", "Verdict", "judge_stream", "stream"]

FEWEST, FEWEST_GAPS = 8, 4  # arrivals, and gaps with one kind of ACK
SEVERAL = 2  # events in an arrival
BLOCK = 4  # arrivals with one kind of ACK; the first of them counts nothing
MOST_OF = CONTROL_SHARE
NEARLY_ALL = 0.9
TOGETHER_NS = 2_000_000  # reads that came so close together are one arrival
LIKE = (0.7, 1.5)
CORK_NS = (180_000_000, 240_000_000)  # MSG_MORE and TCP_CORK give up after 200 ms (tcp(7))
SMALLEST_BUFFER = 1000
FRAMING = 16  # bytes by which chunks around one buffer differ
AT_THE_END = 0.8  # of the time
SHORTEST_NS = 300_000_000

CURES = {
    "NAGLE": (
        "the server itself: TCP_NODELAY on accepted connections (`onewrite check -- SERVER {port}` says whether it is)",
        "HAProxy: option http-no-delay",
        "nginx: tcp_nodelay on, its default, which somebody has switched off",
        "a relay of your own: TCP_NODELAY on both sides, or one write per event",
    ),
    "CORK": (
        "HAProxy: option http-no-delay",
        "nginx: tcp_nopush off for this location",
        "the server itself: no MSG_MORE or TCP_CORK without a flush after each event",
    ),
    "BUFFER": (
        "nginx: proxy_buffering off, or X-Accel-Buffering: no in the answer; gzip off for this location",
        "Apache httpd: ProxyPass … flushpackets=on, and no mod_deflate here",
        "the server itself: flush after each event; middleware that compresses has to flush, too",
        "a proxy of your own: pass on what a read brings, without waiting for a full buffer",
    ),
    "WHOLE": (
        "nginx: proxy_buffering off, or X-Accel-Buffering: no in the answer; gzip off for this location",
        "the server itself: return a stream, and flush after each event",
        "a gateway or function platform between: switch its response buffering off, or go past it",
    ),
}


LINE_END = re.compile(rb"\r\n|\r|\n")


class Events:
    """Counts the events of an event stream (HTML standard, 9.2.6): a blank line ends one; a line ends in CR, LF or CRLF.

    Of any other stream each line that ends in `}` is one.
    """

    def __init__(self, *, of_lines: bool) -> None:
        self._of_lines, self._open, self._begun, self._cr = of_lines, b"", False, False

    def count(self, data: bytes) -> int:
        """The events that end in this piece."""
        if self._cr and data.startswith(b"\n"):  # the second half of a CRLF
            data = data[1:]
        self._cr = data.endswith(b"\r")
        *lines, rest = LINE_END.split(data)
        ended = 0
        for number, line in enumerate(lines):
            line = (self._open if number == 0 else b"") + line
            if self._of_lines:
                ended += line.endswith(b"}")
            elif line:
                self._begun = self._begun or not line.startswith(b":")  # else a comment
            else:
                ended, self._begun = ended + self._begun, False
        rest = (b"" if lines else self._open) + rest
        self._open = rest[:1] + rest[-1:]  # all that is asked of a line
        return ended


@dataclass
class Arrivals:
    """The arrivals of an answer's body, without its head. `times` begin when the request was written."""

    times_ns: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)  # in each
    quick: list[bool] = field(default_factory=list)  # the kind of ACK before each
    ended: bool = False
    status: int = 0

    def add(self, at_ns: int, size: int, events: int, *, quick: bool) -> None:
        if self.times_ns and at_ns - self.times_ns[-1] < TOGETHER_NS:
            self.sizes[-1] += size
            self.events[-1] += events
        else:
            self.times_ns.append(at_ns)
            self.sizes.append(size)
            self.events.append(events)
            self.quick.append(quick)

    def gaps_ns(self, *, quick: bool) -> list[int]:
        """Those within a block."""
        both = zip(pairwise(self.times_ns), pairwise(self.quick), strict=True)
        return [after - before for (before, after), (one, other) in both if one is other is quick]

    def per_arrival(self, *, quick: bool | None = None) -> float:
        """Events, in the mean; with both kinds of ACK where none is named."""
        counts = [count for count, kind in zip(self.events, self.quick, strict=True) if quick is None or kind is quick]
        return sum(counts) / max(1, len(counts))


@dataclass
class Verdict:
    """`word` is streamed, NAGLE, CORK, BUFFER, WHOLE or unknown."""

    word: str
    why: str

    @property
    def exit_status(self) -> ExitStatus:
        return {"streamed": ExitStatus.CLEAN, "unknown": ExitStatus.INCONCLUSIVE}.get(self.word, ExitStatus.FOUND)


def stream(options: DoctorOptions) -> ExitStatus:
    """Read it, judge and print. Raises CouldNotRun."""
    route = route_to(options.url, options.proxy)
    request = DoctorRequest.to(route, read_body(options.post, options.post_bytes), options.headers)
    confirm(route, request, 1, yes=options.yes, connections=1)
    route = with_open_address(route, options.timeout_s)
    context = tls_context(options.ca_file) if route.tls else None
    with progress("the controls") as show:
        controls = answer_controls()
        show(f"reading {route.authority}, {options.timeout_s:g} s at most")
        probe = connected(route, context, options.timeout_s)
        try:
            read = _read(probe, request, options.timeout_s)
        finally:
            probe.close()
    *_, problem = control_line(controls.split_ns, controls.whole_ns)
    stall_ns = median(controls.split_ns)
    if read.status >= 300:
        verdict = Verdict("unknown", f"the server answered {read.status} ({http.client.responses.get(read.status, 'unknown')})")
    elif problem:
        verdict = Verdict("unknown", problem)
    else:
        verdict = judge_stream(read, stall_ns)
    print_out(as_json(_as_data(route, read, verdict, stall_ns)) if options.format == "json" else _as_text(route, read, verdict))
    return verdict.exit_status


def _read(probe: Probe, request: DoctorRequest, timeout_s: float) -> Arrivals:
    """One answer, until it ends or the time is over."""
    arrivals = Arrivals()
    begun, deadline = time.monotonic_ns(), time.monotonic() + timeout_s
    try:
        probe.socket.sendall(request.first + request.second)
        answer, received = probe.begin(request.method, quick=False, deadline=deadline)
        arrivals.status = answer.status
        events = Events(of_lines=answer.headers.get_content_type() != "text/event-stream")
        while data := answer.read1(1 << 16):
            arrivals.add(received.times_ns[-1] - begun, len(data), events.count(data), quick=bool(received.quick))
            received.quick = len(arrivals.times_ns) // BLOCK % 2 == 1
        arrivals.ended = True
    except TimeoutError as error:
        if not arrivals.status:
            raise CouldNotRun(f"no answer within {timeout_s:g} s (--timeout)") from error
    except (OSError, http.client.HTTPException) as error:
        raise CouldNotRun(f"the stream broke: {error}") from error
    return arrivals


def judge_stream(read: Arrivals, stall_ns: float) -> Verdict:
    """`stall_ns` is how long a delayed ACK of this machine takes."""
    count, took_ns = len(read.sizes), read.times_ns[-1] if read.times_ns else 0
    if read.ended and took_ns < SHORTEST_NS:
        return Verdict("unknown", f"the answer was over after {took_ns / 1e6:.0f} ms: too soon for a stream")
    if read.ended and read.times_ns[0] >= AT_THE_END * took_ns:
        return Verdict("WHOLE", f"everything came at the end, after {took_ns / 1e6:.0f} ms: the answer is not streamed")
    delayed, quick = read.gaps_ns(quick=False), read.gaps_ns(quick=True)
    too_few = Verdict("unknown", f"{count} arrivals are too few to see a pattern; give it a longer --timeout")
    if count < FEWEST:
        return too_few
    size, often = Counter(read.sizes[:-1]).most_common(1)[0]
    near = sum(abs(one - size) <= FRAMING for one in read.sizes[:-1])
    several = read.per_arrival() >= SEVERAL
    # Events in a steady rhythm fill a cork evenly, too, but with delayed ACKs some of its bytes leave earlier.
    corks = _share(quick, *CORK_NS) >= MOST_OF
    alike = near >= (NEARLY_ALL if corks else MOST_OF) * (count - 1)
    if size >= SMALLEST_BUFFER and often > 1 and alike and several:
        why = f"{near} of {count} arrivals have {size} bytes and {read.per_arrival():.1f} events each"
        return Verdict("BUFFER", f"{why}: a hop waits until a buffer is full")
    if min(len(delayed), len(quick)) < FEWEST_GAPS:
        return too_few
    if corks and (corked := read.per_arrival(quick=True)) >= SEVERAL:
        why = f"with quick ACKs events come {corked:.1f} at a time, every 200 ms"
        return Verdict("CORK", f"{why}: a hop sends with MSG_MORE or TCP_CORK and does not flush")
    low, high = LIKE[0] * stall_ns, LIKE[1] * stall_ns
    late, prompt = _share(delayed, low, high), _share(quick, low, high)
    if late >= MOST_OF / 2 and prompt <= late / 2:
        stall = f"{stall_ns / 1e6:.0f} ms"
        why = f"{late:.0%} of the gaps are about {stall}, as long as a delayed ACK, and {prompt:.0%} with quick ACKs"
        return Verdict("NAGLE", f"{why}: the first hop has Nagle's algorithm on")
    if several:
        why = f"events come {read.per_arrival():.1f} at a time, in no pattern of a known cause"
        return Verdict("unknown", f"{why}: a hop behind the first bunches them, or the source writes them so")
    if not any(read.events):
        return Verdict("unknown", f"no event was seen in {count} arrivals: the doctor knows event streams and lines of JSON")
    return Verdict("streamed", f"{count} arrivals, with delayed ACKs as with quick ones: no hop bunches them")


def _share(gaps_ns: list[int], low_ns: float, high_ns: float) -> float:
    return sum(low_ns <= gap <= high_ns for gap in gaps_ns) / max(1, len(gaps_ns))


def _arms(read: Arrivals) -> dict[str, dict[str, Any]]:
    """What came with each kind of ACK."""
    arms = {}
    for name, quick in (("delayed_acks", False), ("quick_acks", True)):
        each = zip(read.quick, read.sizes, read.events, strict=True)
        ours, gaps_ns = [one for one in each if one[0] is quick], read.gaps_ns(quick=quick)
        arms[name] = {
            "arrivals": len(ours),
            "events": sum(events for *_, events in ours),
            "bytes": sum(size for _, size, _ in ours),
            "gap_ms": round(median(gaps_ns) / 1e6, 1) if gaps_ns else None,
        }
    return arms


def _as_text(route: Route, read: Arrivals, verdict: Verdict) -> str:
    lines = wrapped(f"{verdict.word}: {verdict.why}", "", "  ")
    lines += [*wrapped(f"{route.shown}; first hop: {route.first_hop}", "", "  "), ""]
    rows = [["", "arrivals", "events", "gap ms", "bytes"]]
    for name, one in _arms(read).items():
        cells = (one["arrivals"], one["events"], one["gap_ms"] or "-", one["bytes"])
        rows.append([name.replace("_", " "), *map(str, cells)])
    lines += table(rows, "<>>>>", (4, 1))
    if verdict.word in CURES:
        lines += ["", *wrapped("cures, from the likely one to the rare one:")]
        lines += [line for cure in CURES[verdict.word] for line in wrapped(cure, "  - ", "    ")]
    return "\n".join(lines)


def _as_data(route: Route, read: Arrivals, verdict: Verdict, stall_ns: float) -> dict[str, Any]:
    return {
        **header("onewrite doctor --stream", verdict.exit_status),
        "verdict": verdict.word,
        "url": route.shown,
        "first_hop": route.first_hop,
        "why": verdict.why,
        "cures": list(CURES.get(verdict.word, ())),
        "delayed_ack_ms": round(stall_ns / 1e6, 1),
        "status": read.status,
        "ended": read.ended,
        "arms": _arms(read),
    }
