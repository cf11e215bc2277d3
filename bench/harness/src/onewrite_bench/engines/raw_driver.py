"""A driver over a raw blocking socket: the stall, and its end, without a library.

It speaks as much of the driver protocol (spec/conformance/PROTOCOL.md) as the bench needs: open, load, close. The
option `adapter` has what a scenario's `socket` says; without it the socket has TCP_NODELAY and makes one write.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

from onewrite_lab.client import Connection, How

from onewrite_bench.generators.open_loop import Load

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
        self._pools: dict[str, list[Connection]] = {}

    def load(self, command: dict[str, Any]) -> dict[str, Any]:
        connections = int(command.get("connections") or 1)
        pool = self._pools.setdefault(command["url"], [])
        while len(pool) < connections:
            pool.append(Connection(command["url"], self._how))
        run = Load(command)
        run.run(pool[:connections])
        return run.reply()

    def close(self) -> None:
        for pool in self._pools.values():
            for connection in pool:
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
