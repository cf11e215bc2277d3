"""What the surveys share: servers that always end, POSTs in turns by a raw client, and the tables of a page."""

from __future__ import annotations

import os
import platform
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from onewrite_bench.ends import scratch
from onewrite_bench.failures import BenchError as Missing
from onewrite_lab.certificates import Certificates
from onewrite_lab.client import CONTROL, Connection, How
from onewrite_lab.servers import relay
from onewrite_lab.servers.children import Children, script
from onewrite_lab.servers.haproxy import HAProxy
from onewrite_lab.stall import STALL_MS, control_stalls, says_nothing
from onewrite_lab.tap import Script, Tap
from onewrite_lab.witness import tcpinfo

__all__ = ["HERE", "JSON", "MODES", "ROOT", "WARM_UP", "Missing", "Sample", "Servers", "fill", "machine", "measure", "run", "table"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WARM_UP = 16  # a new connection acknowledges at once for a while: it must leave quick-ACK mode first
#: The tap answers an empty object at once, as JSON clients read it.
JSON = Script.of({"answers": [{"headers": [["Content-Type", "application/json"]], "body": {"text": "{}"}}]})
ONE_WRITE = How(nagle=True, split=False)
MODES = {"Nagle, two writes": CONTROL, "TCP_NODELAY, two writes": How(nagle=False, split=True), "Nagle, one write": ONE_WRITE}


@dataclass(frozen=True)
class Sample:
    """What one client saw. `segments` is the mode of data segments per request, None where the kernel does not tell."""

    times_ms: tuple[float, ...]
    segments: int | None

    @property
    def p50_ms(self) -> float:
        return statistics.median(self.times_ms)

    @property
    def stalled(self) -> int:
        return sum(time > STALL_MS for time in self.times_ms)

    @property
    def stalls(self) -> bool:
        """Whether this client, as a control, stalled."""
        return control_stalls(self.stalled / len(self.times_ms))

    @property
    def noisy(self) -> bool:
        """Whether this client, which cannot stall, was late so often that the run says nothing."""
        return says_nothing(self.stalled / len(self.times_ms))

    def cell(self) -> str:
        text = f"{self.p50_ms:.1f} ms, {self.stalled} of {len(self.times_ms)}"
        return f"**{text}**" if self.stalled * 2 >= len(self.times_ms) else text


def measure(port: int, *, authority: str | None = None, requests: int = 40, gap_us: int = 0) -> dict[str, Sample]:
    """POSTs of 200 bytes, one connection per mode, in turns: all modes meet the same moments of the machine.

    Over TLS where there is an authority. `gap_us` passes between two writes. Raises ValueError on an error status.
    """
    place = f"https://localhost:{port}/items" if authority else f"http://127.0.0.1:{port}/items"
    clients = {
        name: Connection(place, replace(how, gap_us=gap_us, authority=authority))
        for name, how in MODES.items()
    }
    times: dict[str, list[float]] = {name: [] for name in MODES}
    segments: dict[str, list[int]] = {name: [] for name in MODES}
    try:
        sockets = {name: client.connect() for name, client in clients.items()}
        for turn in range(WARM_UP + requests):
            for name, client in clients.items():
                before = tcpinfo.read(sockets[name])
                started = time.perf_counter()
                status = client.post("POST", b"x" * 200)
                elapsed_ms = (time.perf_counter() - started) * 1000
                after = tcpinfo.read(sockets[name])
                if status != 200:
                    raise ValueError(f"answered {status}")
                if turn >= WARM_UP:
                    times[name].append(elapsed_ms)
                    if before is not None and after is not None:
                        segments[name].append(after.data_segs_out - before.data_segs_out)
    finally:
        for client in clients.values():
            client.close()
    return {name: Sample(tuple(times[name]), statistics.mode(segments[name]) if segments[name] else None) for name in MODES}


class Servers:
    """Everything that runs during a survey; ended in reverse order, whatever happens."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Servers:
        self.folder = self._stack.enter_context(scratch("onewrite-survey-"))
        self.children = self._stack.enter_context(Children(self.folder))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def certificates(self) -> Certificates:
        return Certificates(self.folder)

    def origin(self) -> int:
        """The port of a server that answers `{}` at once, in one write, with TCP_NODELAY."""
        return self._stack.enter_context(Tap(JSON)).port

    def relay(self, upstream: int) -> int:
        ready = self.children.start("relay", script(Path(relay.__file__), "--upstream-port", str(upstream))).ready["ports"]
        assert isinstance(ready, dict)
        return int(ready["relay"])

    def haproxy(self, origin: int) -> dict[str, int]:
        """The ports of a real HAProxy's frontends, by their names in haproxy.cfg."""
        env = {"ONEWRITE_ORIGIN": f"127.0.0.1:{origin}", "ONEWRITE_CERTIFICATE": self.certificates.server_file()}
        return HAProxy(self.children, HERE / "haproxy.cfg", env).ports


def fill(page: Path, blocks: Mapping[str, str]) -> None:
    """Replaces `<!-- measured:NAME -->` … `<!-- /measured:NAME -->`. Raises ValueError unless the page holds each once."""
    text = page.read_text(encoding="utf-8")
    for name, content in blocks.items():
        start, end = f"<!-- measured:{name} -->", f"<!-- /measured:{name} -->"
        if text.count(start) != 1 or text.count(end) != 1:
            raise ValueError(f"{page.name} must hold {start} and {end} once")
        before, rest = text.split(start)
        text = f"{before}{start}\n{content.strip(chr(10))}\n{end}{rest.split(end)[1]}"
    page.write_text(text, encoding="utf-8")


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """`Linux 6.18.0, 2 cores, load average 0.4, loopback`: the conditions every figure needs."""
    load = os.getloadavg()[0]
    return f"{platform.system()} {platform.release().split('-')[0]}, {os.cpu_count()} cores, load average {load:.1f}, loopback"


def run(main: Callable[[], int]) -> None:
    """Ends the program with what `main` returns, 3 with one line when a program is missing, 130 after Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    try:
        sys.exit(main())
    except Missing as missing:
        print(missing, file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        sys.exit(130)
