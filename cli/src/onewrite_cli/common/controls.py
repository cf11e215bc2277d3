"""The tool's own clients and servers, in the same run: one client must stall, the other must not.

Without them a figure in milliseconds says nothing: another kernel delays an ACK by another time, a busy machine
makes everything late.
"""

from __future__ import annotations

import time
from dataclasses import replace

from onewrite_lab.client import CONTROL, GOOD, Connection
from onewrite_lab.tap import Answer, Script, Tap

from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.response import Client

__all__ = ["PATH", "answer_controls", "run_controls"]

PATH = "onewrite-control"
TIMES = 8
TICKETS_S = 0.005  # until session tickets have acknowledged the client's Finished: head and body would leave together behind it
BODY = {"text": "ok\n"}
UNREACHED = "the tool's own client could not reach the tool's own server"


def run_controls(url: str, *, body: int, times: int, ca_file: str | None = None, proxy: str | None = None) -> list[int]:
    """`times` requests of each kind, in turn. Returns the client port of each kind: split, single.

    Raises CouldNotRun.
    """
    clients = [Connection(url + PATH, replace(kind, authority=ca_file, proxy=proxy, timeout_s=10)) for kind in (CONTROL, GOOD)]
    try:
        ports: list[int] = [client.connect().getsockname()[1] for client in clients]
        if url.startswith("https:"):
            time.sleep(TICKETS_S)
        for _ in range(times):
            for client in clients:
                client.post("POST", b"x" * body)
    except OSError as error:
        raise CouldNotRun(f"{UNREACHED}: {error}") from error
    finally:
        for client in clients:
            client.close()
    return ports


def answer_controls() -> tuple[list[int], list[int]]:
    """Servers that split their answers with Nagle on, and that write once: first to last byte of each answer, in ns.

    Returns (split, single). Raises CouldNotRun.
    """
    tails: list[list[int]] = []
    for answer in (Answer(body=BODY, split={"at": "head"}, nagle=True), Answer(body=BODY)):
        with Tap(Script(answers=[answer])) as tap:
            try:
                client = Client("127.0.0.1", tap.port, tls=False, timeout_s=10)
                tails.append([client.request("/", quick=False).response.tail_ns for _ in range(TIMES)])
                client.close()
            except OSError as error:
                raise CouldNotRun(f"{UNREACHED}: {error}") from error
    return tails[0], tails[1]
