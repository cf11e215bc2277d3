"""A driver over a bare blocking socket: the lowest cost a library can reach, and the stall without a library.

Speaks version 1 of the driver protocol (spec/conformance/PROTOCOL.md), as much as the bench needs: open, load,
close. Client `control` has Nagle on and makes two writes; `onewrite` has TCP_NODELAY and makes one. The adapter
options `nagle` and `split` choose any other of the four combinations, `gap_us` and `pieces` how it splits.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
import time
from typing import Any

from onewrite_lab.client import Connection, How

__all__ = ["main"]


class RawClient:
    def __init__(self, options: dict[str, Any], nagle: bool, split: bool) -> None:
        extra = options.get("adapter") or {}
        self._how = How(
            nagle=bool(extra.get("nagle", nagle)),
            split=bool(extra.get("split", split)),
            gap_us=int(extra.get("gap_us", 0)),
            pieces=int(extra.get("pieces", 1)),
            quickack=bool(extra.get("quickack", False)),
            authority=options.get("tls_ca"),
            proxy=options.get("proxy"),
        )
        self._keepalive = options.get("keepalive", True)
        self._pools: dict[str, list[Connection]] = {}

    def load(self, command: dict[str, Any]) -> dict[str, Any]:
        connections = int(command.get("connections") or 1)
        pool = self._pools.setdefault(command["url"], [])
        while len(pool) < connections:
            pool.append(Connection(command["url"], self._how))
        run = _Load(command, self._keepalive)
        threads = [threading.Thread(target=run.caller, args=(connection,)) for connection in pool[:connections]]
        run.started = time.monotonic_ns()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return run.reply()

    def close(self) -> None:
        for pool in self._pools.values():
            for connection in pool:
                connection.close()


class _Load:
    """One load command, shared by its callers."""

    def __init__(self, command: dict[str, Any], keepalive: bool) -> None:
        body = command.get("body") or {}
        self._body = (body.get("fill") or "x").encode() * int(body.get("size") or 0)
        self._method = command.get("method") or "POST"
        self._warmup = int(command.get("warmup") or 0)
        self._count = command.get("count")
        self._seconds = command.get("seconds")
        self._rate = float(command["rate"]) if command.get("mode") == "open" else None
        self._keepalive = keepalive
        self._expect = command.get("expect")
        self._taken = 0
        self._lock = threading.Lock()
        self.started = 0
        self._latencies: list[int] = []
        self._service: list[int] = []
        self._errors = 0
        self._error_sample: str | None = None

    def _take(self) -> int | None:
        """The number of the next request, or None when there is none left."""
        with self._lock:
            number = self._taken
            elapsed = (time.monotonic_ns() - self.started) / 1e9
            if self._rate is not None and self._seconds is not None:
                over = number / self._rate >= float(self._seconds)
            elif self._count is not None:
                over = number >= int(self._count) + self._warmup
            else:
                over = elapsed >= float(self._seconds or 0)
            if over:
                return None
            self._taken += 1
            return number

    def caller(self, connection: Connection) -> None:
        while (number := self._take()) is not None:
            due = time.monotonic_ns()
            if self._rate is not None:
                due = self.started + int(number / self._rate * 1e9)
                time.sleep(max(0.0, (due - time.monotonic_ns()) / 1e9))
            sent = time.monotonic_ns()
            try:
                status = connection.post(self._method, self._body)
                right = status == self._expect if self._expect else 200 <= status < 300
                problem = None if right else f"status {status}"
            except (OSError, ValueError) as error:
                connection.close()
                problem = str(error)
            done = time.monotonic_ns()
            if not self._keepalive:
                connection.close()
            with self._lock:
                if problem is not None:
                    self._errors += 1
                    self._error_sample = self._error_sample or problem
                elif number >= self._warmup:
                    self._latencies.append((done - due) // 1000)
                    self._service.append((done - sent) // 1000)

    def reply(self) -> dict[str, Any]:
        return {
            "latencies_us": self._latencies,
            "service_us": self._service,
            "errors": self._errors,
            "error_sample": self._error_sample,
            "started_mono_ns": self.started,
            "ended_mono_ns": time.monotonic_ns(),
        }


def main() -> None:
    client = "stock"
    clients: dict[int, RawClient] = {}
    for line in sys.stdin:
        command = json.loads(line)
        name = command.get("cmd")
        reply: dict[str, Any] = {}
        if name == "hello":
            client = command["client"]
            reply = {
                "protocol": 1,
                "client": client,
                "adapter": "raw",
                "version": None,
                "base": {"name": "socket", "version": platform.python_version()},
                "runtime": f"CPython {platform.python_version()}",
                "pid": os.getpid(),
                "apis": ["socket"],
                "capabilities": ["load", "concurrency", "shared_clock"],
            }
        elif name == "open":
            bad = client == "control"
            reply = {"client_id": len(clients) + 1}
            clients[reply["client_id"]] = RawClient(command.get("options") or {}, bad, bad)
        elif name == "load":
            reply = clients[command["client_id"]].load(command)
        elif name == "close":
            clients.pop(command["client_id"]).close()
            reply = {"ok": True}
        elif name == "bye":
            reply = {"ok": True}
        else:
            reply = {"skipped": f"the raw driver has no {name}"}
        print(json.dumps({"seq": command["seq"], **reply}), flush=True)
        if name == "bye":
            return


if __name__ == "__main__":
    main()
