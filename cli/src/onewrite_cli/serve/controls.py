"""Two servers of the tool's own: one splits its answer with Nagle on and must stall, one writes once and must not."""

from __future__ import annotations

from onewrite_lab.tap import Answer, Script, Tap

from onewrite_cli.doctor.response import BadResponse
from onewrite_cli.exit_status import CouldNotRun
from onewrite_cli.serve.client import Client

__all__ = ["answer_controls"]

TIMES = 8
BODY = {"text": "ok\n"}


def answer_controls() -> tuple[list[int], list[int]]:
    """First to last byte of their answers, in ns: (split, single). Raises CouldNotRun."""
    tails: list[list[int]] = []
    for answer in (Answer(body=BODY, split={"at": "head"}, nagle=True), Answer(body=BODY)):
        with Tap(Script(answers=[answer])) as tap:
            client = Client("127.0.0.1", tap.port, tls=False, timeout_s=10)
            try:
                tails.append([client.request("/", 0, quick=False).tail_ns for _ in range(TIMES)])
            except (OSError, BadResponse) as error:
                raise CouldNotRun(f"the tool's own client could not reach the tool's own server: {error}") from error
            finally:
                client.close()
    return tails[0], tails[1]
