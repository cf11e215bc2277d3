"""The built-in generator: requests by raw sockets at a constant rate, in a process that does nothing else.

Request n is due at start + n / rate, whatever the server does. Its latency counts from then, so a slow answer delays
the requests behind it, as it delays the users behind it.

usage: open_loop.py, with the arguments of `generate` as JSON on the command line; prints its result as JSON
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from onewrite_lab.probe import Probe, request_pieces

__all__ = ["LATE_S", "generate"]

LATE_S = 0.001
"""A late send: a caller that had waited for the time of its request sends it later than this."""


def generate(url: str, rate: int, connections: int, seconds: int, warmup: int) -> dict[str, Any]:
    """Send `rate` requests per second for `warmup` and `seconds`, and wait for the answers.

    A client that is overloaded does not get each request that is due by the end, as with wrk2.
    """
    numbers = iter(range(rate * (warmup + seconds)))
    lock = threading.Lock()
    latencies_us: list[int] = []
    late_sends = 0
    problems: list[str] = []
    counted: list[float] = []
    pieces = request_pieces(url, b"x" * 200)
    started = time.monotonic()
    ends = started + warmup + seconds

    def caller() -> None:
        nonlocal late_sends
        probe: Probe | None = None
        while True:
            with lock:
                number = next(numbers, None)
            if number is None or time.monotonic() > ends:
                return
            due = started + number / rate
            left = due - time.monotonic()
            time.sleep(max(0.0, left))
            sent = time.monotonic()
            try:
                probe = probe or Probe.to(url)
                exchange = probe.exchange(pieces)
                problem = None if 200 <= exchange.status < 300 else f"status {exchange.status}"
                probe = probe if exchange.keep_alive else None
            except OSError as error:
                probe = None
                problem = str(error)
            latency_us = round((time.monotonic() - due) * 1e6)
            with lock:
                if problem is not None:
                    problems.append(problem)
                elif number >= rate * warmup:
                    latencies_us.append(latency_us)
                    counted.append(sent)
                    late_sends += left > 0 and sent - due > LATE_S

    threads = [threading.Thread(target=caller) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # From the first request that counts to the last: the last answers are latency, not duration.
    spent = max(counted, default=0) - min(counted, default=0) + 1 / rate
    return {"latencies_us": latencies_us, "late_sends": late_sends, "problems": problems, "seconds": spent}


if __name__ == "__main__":
    sys.setswitchinterval(0.0005)
    print(json.dumps(generate(**json.loads(sys.argv[1]))))
