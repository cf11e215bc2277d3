"""A driver over a raw blocking socket: the stall, and its end, without a library.

It speaks as much of the driver protocol (spec/conformance/PROTOCOL.md) as the bench needs: open, load, close. The
option `adapter` has what a scenario's `socket` says; without it the socket has TCP_NODELAY and makes one write.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

from onewrite_lab.client import Connection, How

__all__ = ["RawClient", "main", "serve"]


class RawClient:
    def __init__(self, options: dict[str, Any]) -> None:
        how = options.get("adapter") or {}
        writes = int(how.get("writes", 1))
        self._how = How(
            nagle=bool(how.get("nagle", False)),
            split=writes > 1,
            gap_us=int(how.get("gap_us", 0)),
            pieces=max(1, writes - 1),
            quickack=bool(how.get("quickack", False)),
            authority=options.get("tls_ca"),
            proxy=options.get("proxy"),
        )
        self._connections: dict[str, Connection] = {}

    def load(self, command: dict[str, Any]) -> dict[str, Any]:
        """POSTs one after the other on one connection: `count` of them, or for so many seconds."""
        url, count, expect = command["url"], command.get("count"), command.get("expect")
        connection = self._connections.setdefault(url, Connection(url, self._how))
        payload = b"x" * int(command["body"].get("size") or 0)
        ends = time.monotonic() + float(command.get("seconds") or 0)
        latencies: list[int] = []
        problems: list[str] = []
        while len(latencies) + len(problems) < count if count else time.monotonic() < ends:
            sent = time.monotonic_ns()
            try:
                status = connection.post(command.get("method") or "POST", payload)
                right = status == expect if expect else 200 <= status < 300
                problem = "" if right else f"status {status}"
            except (OSError, ValueError) as error:
                connection.close()
                problem = str(error)
            if problem:
                problems.append(problem)
            else:
                latencies.append((time.monotonic_ns() - sent) // 1000)
        return {"latencies_us": latencies, "errors": len(problems), "error_sample": next(iter(problems), None)}

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


def serve(hello: dict[str, Any], opened: Callable[[dict[str, Any]], Any], base: dict[str, str], runtime: str) -> None:
    """Answer `hello`, then commands until `bye`. `opened` makes a client with `load` and `close` from its options."""
    clients: dict[int, Any] = {}
    known = {
        "protocol": 1,
        "client": hello["client"],
        "adapter": "raw",
        "version": None,
        "base": base,
        "runtime": runtime,
        "pid": os.getpid(),
        "apis": ["socket"],
        "capabilities": ["load", "shared_clock"],
    }
    print(json.dumps({"seq": hello["seq"], **known}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        name = command.get("cmd")
        reply: dict[str, Any] = {"ok": True}
        if name == "open":
            reply = {"client_id": len(clients) + 1}
            clients[len(clients) + 1] = opened(command.get("options") or {})
        elif name == "load":
            reply = clients[command["client_id"]].load(command)
        elif name == "close":
            clients[command["client_id"]].close()
        elif name != "bye":
            reply = {"skipped": f"this driver has no {name}"}
        print(json.dumps({"seq": command["seq"], **reply}), flush=True)
        if name == "bye":
            return


def main() -> None:
    version = platform.python_version()
    serve(json.loads(sys.stdin.readline()), RawClient, {"name": "socket", "version": version}, f"CPython {version}")


if __name__ == "__main__":
    main()
