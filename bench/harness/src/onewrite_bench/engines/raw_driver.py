"""A driver over a raw blocking socket: the stall, and its end, without a library.

It has the commands of the driver protocol (spec/conformance/PROTOCOL.md) that the bench needs: open, load, close. The
option `adapter` is a scenario's `socket`; without it the socket has TCP_NODELAY and makes one write.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

from onewrite_lab.probe import Probe, request_pieces

__all__ = ["RawClient", "main", "serve"]


class RawClient:
    """A client with one kept connection to each URL, which is opened again when it has ended."""

    def __init__(self, options: dict[str, Any]) -> None:
        how = options.get("adapter") or {}
        self._nodelay = not how.get("nagle", False)
        self._writes = int(how.get("writes", 1))
        self._gap_s = int(how.get("gap_us", 0)) / 1e6
        self._quick = True if how.get("quickack") else None
        self._ca_file: str | None = options.get("tls_ca")
        self._proxy: str | None = options.get("proxy")
        self._probes: dict[str, Probe] = {}

    def load(self, command: dict[str, Any]) -> dict[str, Any]:
        """POSTs one after the other on one connection: `count` of them, or for that number of seconds."""
        url, count = command["url"], command.get("count")
        body = b"x" * int(command["body"].get("size") or 0)
        pieces = request_pieces(url, body, writes=self._writes, proxied=bool(self._proxy))
        ends = time.monotonic() + float(command.get("seconds") or 0)
        latencies: list[int] = []
        problems: list[str] = []
        while len(latencies) + len(problems) < count if count else time.monotonic() < ends:
            sent = time.monotonic_ns()
            try:
                problem = self._post(url, pieces)
            except OSError as error:
                self._drop(url)
                problem = str(error)
            if problem:
                problems.append(problem)
            else:
                latencies.append((time.monotonic_ns() - sent) // 1000)
        return {"latencies_us": latencies, "errors": len(problems), "error_sample": next(iter(problems), None)}

    def _post(self, url: str, pieces: list[bytes]) -> str | None:
        """Return the reason why the answer is wrong, or None. Raises OSError."""
        probe = self._probes.get(url)
        if probe is None:
            probe = Probe.to(url, nodelay=self._nodelay, ca_file=self._ca_file, proxy=self._proxy)
            self._probes[url] = probe
        exchange = probe.exchange(pieces, gap_s=self._gap_s, quick=self._quick)
        if not exchange.keep_alive:
            self._drop(url)
        return None if 200 <= exchange.status < 300 else f"status {exchange.status}"

    def _drop(self, url: str) -> None:
        probe = self._probes.pop(url, None)
        if probe is not None:
            probe.close()

    def close(self) -> None:
        for url in list(self._probes):
            self._drop(url)


def serve(hello: dict[str, Any], opened: Callable[[dict[str, Any]], Any], base: dict[str, str], runtime: str) -> None:
    """Answer `hello`, then commands until `bye`. `opened` makes a client with `load` and `close` from its options."""
    clients: dict[int, Any] = {}
    known = {
        "protocol": 2,
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
