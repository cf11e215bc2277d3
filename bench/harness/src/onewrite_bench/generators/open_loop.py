"""Requests by raw sockets, closed loop or constant rate: the raw driver's `load`, and the built-in generator.

At a constant rate request n is due at start + n / rate, whatever the server does. Its latency counts from then, so a
slow answer delays the requests behind it, as it delays the users behind it (coordinated omission is not hidden).
A caller that slept until a request was due and still sent it late is the generator's own lateness.

usage: open_loop.py, with a plan as JSON on the command line; prints the samples as JSON
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from onewrite_lab.client import GOOD, Connection

__all__ = ["Load", "main"]


class Load:
    """One run, shared by its callers. `command` is the driver protocol's `load`."""

    def __init__(self, command: dict[str, Any]) -> None:
        body = command.get("body") or {}
        self._body = (body.get("fill") or "x").encode() * int(body.get("size") or 0)
        self._method = command.get("method") or "POST"
        self._warmup = int(command.get("warmup") or 0)
        self._count = command.get("count")
        self._seconds = float(command.get("seconds") or 0)
        self._rate = float(command["rate"]) if command.get("mode") == "open" else None
        self._expect = command.get("expect")
        self._taken = 0
        self._lock = threading.Lock()
        self._started = self._ended = self._last_sent = 0
        self._latencies: list[int] = []
        self._service: list[int] = []
        self._errors = 0
        self._error_sample: str | None = None
        self._late: list[int] = []

    def run(self, connections: list[Connection]) -> None:
        """Use these connections, a thread each, until the load is done."""
        threads = [threading.Thread(target=self._caller, args=(one,)) for one in connections]
        self._started = self._last_sent = time.monotonic_ns()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._ended = time.monotonic_ns()

    def _take(self) -> int | None:
        """The number of the next request, or None when there is none left."""
        with self._lock:
            number = self._taken
            if self._count is not None:
                over = number >= int(self._count) + self._warmup
            elif self._rate is not None:
                over = number / self._rate >= self._seconds
            else:
                over = (time.monotonic_ns() - self._started) / 1e9 >= self._seconds
            if over:
                return None
            self._taken += 1
            return number

    def _caller(self, connection: Connection) -> None:
        while (number := self._take()) is not None:
            due = time.monotonic_ns()
            slept = False
            if self._rate is not None:
                due = self._started + int(number / self._rate * 1e9)
                left = due - time.monotonic_ns()
                slept = left > 0
                time.sleep(max(0.0, left / 1e9))
            sent = time.monotonic_ns()
            try:
                status = connection.post(self._method, self._body)
                right = status == self._expect if self._expect else 200 <= status < 300
                problem = None if right else f"status {status}"
            except (OSError, ValueError) as error:
                connection.close()
                problem = str(error)
            done = time.monotonic_ns()
            with self._lock:
                if problem is not None:
                    self._errors += 1
                    self._error_sample = self._error_sample or problem
                elif number >= self._warmup:
                    self._latencies.append((done - due) // 1000)
                    self._service.append((done - sent) // 1000)
                    self._last_sent = max(self._last_sent, sent)
                    if slept:
                        self._late.append((sent - due) // 1000)

    def reply(self) -> dict[str, Any]:
        """As the driver protocol's answer to `load`."""
        return {
            "latencies_us": self._latencies,
            "service_us": self._service,
            "errors": self._errors,
            "error_sample": self._error_sample,
            "started_mono_ns": self._started,
            "ended_mono_ns": self._ended,
        }

    def generated(self) -> dict[str, Any]:
        """The samples, how late each request was sent, and how long sending took: the last answers are latency."""
        return {**self.reply(), "late_us": self._late, "sent_s": (self._last_sent - self._started) / 1e9}


def main() -> None:
    command = json.loads(sys.argv[1])
    sys.setswitchinterval(0.0005)
    load = Load({**command, "mode": "open"})
    load.run([Connection(command["url"], GOOD) for _ in range(command["connections"])])
    print(json.dumps(load.generated()))


if __name__ == "__main__":
    main()
