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
from typing import Any

from onewrite_lab.client import Connection, How

from onewrite_bench.generators.open_loop import Load

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
        run = Load(command, self._keepalive)
        run.run(pool[:connections])
        return run.reply()

    def close(self) -> None:
        for pool in self._pools.values():
            for connection in pool:
                connection.close()


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
