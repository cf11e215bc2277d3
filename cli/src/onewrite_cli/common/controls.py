"""The tool's own clients and servers, in the same run: one must stall, the other must not.

Without them a figure in milliseconds says nothing: another kernel delays an ACK by another time, a busy machine makes
everything late.
"""

from __future__ import annotations

import threading

from onewrite_lab.probe import Exchange, Probe, request_pieces
from onewrite_lab.tap import Answer, Script, Tap

from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.origin import Origin
from onewrite_cli.common.stalls import Controls

__all__ = ["answer_controls", "request_controls"]

#: Connections that wait for their ACKs at the same time, and requests of each: waiting costs no processor.
CONNECTIONS, TIMES = 4, 2
GAP_S = 0.001  # between the two writes: joined they would show nothing
BODY = b"x" * 200


def request_controls() -> Controls:
    """Requests to a server that delays its ACKs: how long the kernel held them; where it does not say, what they took.

    Raises CouldNotRun.
    """
    origin = Origin("http")
    try:
        made = [_exchanges(origin.url, writes, nodelay=writes == 1) for writes in (2, 1)]
    finally:
        origin.close()
    return Controls(*([one.total_ns if one.held_ns is None else one.held_ns for one in each] for each in made))


def answer_controls() -> Controls:
    """Servers that split their answers with Nagle on, and that write once: first to last byte. Raises CouldNotRun."""
    tails = []
    for answer in (Answer(body={"text": "ok\n"}, split={"at": "head"}, nagle=True), Answer(body={"text": "ok\n"})):
        with Tap(Script(answers=[answer])) as tap:
            tails.append([one.tail_ns for one in _exchanges(tap.base, 1, nodelay=True, quick=False)])
    return Controls(*tails)


def _exchanges(url: str, writes: int, *, nodelay: bool, quick: bool | None = None) -> list[Exchange]:
    made: list[Exchange] = []
    failed: list[OSError] = []

    def use() -> None:
        try:
            probe = Probe.to(url, nodelay=nodelay, timeout_s=10)
            for _ in range(TIMES):
                made.append(probe.exchange(request_pieces(url, BODY, writes=writes), gap_s=GAP_S, quick=quick))
            probe.close()
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=use) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise CouldNotRun(f"the tool's own client could not reach the tool's own server: {failed[0]}")
    return made
