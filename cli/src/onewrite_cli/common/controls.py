"""Clients and servers of the tool itself, in the same run: one that must stall, one that must not.

Without them a figure in milliseconds says nothing: another kernel delays an ACK by another time, a busy machine
makes everything late.
"""

from __future__ import annotations

import time

from onewrite_lab.client import CONTROL, GOOD, Connection, How
from onewrite_lab.tap import Answer, Script, Tap

from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.response import BadResponse, Client

__all__ = ["PATH", "UNREACHED", "answer_controls", "control_client", "run_controls"]

PATH = "onewrite-control"
TIMES = 8
TICKETS_S = 0.005  # until session tickets have acknowledged the client's Finished: head and body would leave together behind it
BODY = {"text": "ok\n"}
UNREACHED = "the tool's own client could not reach the tool's own server"


def control_client(url: str, *, split: bool, ca_file: str | None = None, proxy: str | None = None) -> tuple[Connection, int]:
    """An open connection, with its local port. `split` writes head and body apart with Nagle on; else one write."""
    kind = CONTROL if split else GOOD
    how = How(nagle=kind.nagle, split=kind.split, authority=ca_file, proxy=proxy, timeout_s=10)
    client = Connection(url + PATH, how)
    return client, client.connect().getsockname()[1]


def run_controls(
    url: str, *, body: int, times: int, ca_file: str | None, proxy: str | None, kinds: tuple[bool, ...] = (True, False)
) -> list[int]:
    """`times` requests of each kind, in turn: split and single ones. Returns their client ports. Raises CouldNotRun."""
    clients: list[tuple[Connection, int]] = []
    try:
        clients += [control_client(url, split=split, ca_file=ca_file, proxy=proxy) for split in kinds]
        if url.startswith("https:"):
            time.sleep(TICKETS_S)
        for _ in range(times):
            for client, _ in clients:
                client.post("POST", b"x" * body)
    except OSError as error:
        raise CouldNotRun(f"{UNREACHED}: {error}") from error
    finally:
        for client, _ in clients:
            client.close()
    return [port for _, port in clients]


def answer_controls() -> tuple[list[int], list[int]]:
    """Servers that split their answers with Nagle on, and that write once: first to last byte of each answer, in ns.

    Returns (split, single). Raises CouldNotRun.
    """
    tails: list[list[int]] = []
    for answer in (Answer(body=BODY, split={"at": "head"}, nagle=True), Answer(body=BODY)):
        with Tap(Script(answers=[answer])) as tap:
            try:
                client = Client("127.0.0.1", tap.port, tls=False, timeout_s=10)
                tails.append([client.request("/", 0, quick=False).tail_ns for _ in range(TIMES)])
                client.close()
            except (OSError, BadResponse) as error:
                raise CouldNotRun(f"{UNREACHED}: {error}") from error
    return tails[0], tails[1]
