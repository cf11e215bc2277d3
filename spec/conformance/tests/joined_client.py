"""A driver for the judge's own tests: http.client as `stock`, and as `onewrite` with head and body in one write.

`python joined_client.py BROKEN` breaks one thing in the latter.
"""

from __future__ import annotations

import http.client
import socket
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
import http_client_driver as driver  # type: ignore[import-not-found]

BROKEN = sys.argv[1] if len(sys.argv) > 1 else ""
NODELAY = socket.IPPROTO_TCP, socket.TCP_NODELAY
Connection: Any = http.client.HTTPConnection
kinds = [""]
connect, getresponse, answer = Connection.connect, Connection.getresponse, driver.answer


def joined(self: Any, message_body: Any = None, encode_chunked: bool = False) -> None:
    head = b"\r\n".join([*self._buffer, b"", b""])
    self._buffer.clear()
    if BROKEN == "byte":
        head = head.replace(b"Host:", b"host:")
    self.send(head + (message_body or b""))


def without_nodelay(self: Any) -> None:
    connect(self)
    self.sock.setsockopt(*NODELAY, 0)


def nodelay_late(self: Any) -> Any:
    response = getresponse(self)
    if self.sock is not None:
        self.sock.setsockopt(*NODELAY, 1)
    return response


def patched(message: dict[str, Any]) -> dict[str, Any]:
    kinds.append(message.get("client", kinds[-1]))
    if message["cmd"] == "hello" and message["client"] == "onewrite":
        if BROKEN not in ("split", "control", "error"):
            Connection._send_output = joined
        if BROKEN in ("late", "control"):
            Connection.connect = without_nodelay
        if BROKEN == "late":
            Connection.getresponse = nodelay_late
    if BROKEN == "hung stock" and kinds[-1] == "stock" and message["cmd"] == "request":
        time.sleep(60)
    reply: dict[str, Any] = answer(message)
    if BROKEN == "error" and kinds[-1] == "onewrite" and reply.get("outcome") == "error":
        reply["error"]["type"] = "OnewriteError"
    return reply


if __name__ == "__main__":
    driver.KINDS.append("onewrite")
    driver.CAPABILITIES.extend(["odd"] if BROKEN == "odd" else [])
    driver.answer = patched
    driver.main()
