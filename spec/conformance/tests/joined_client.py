"""A driver for the judge's own tests: http.client as `stock`, and as `onewrite` with head and body in one write.

`python joined_client.py BROKEN` breaks one thing in the latter.
"""

# ruff: noqa: ANN001, ANN201
# mypy: ignore-errors

import base64
import hashlib
import http.client
import json
import os
import platform
import socket
import ssl
import sys
import time
from urllib.parse import urlsplit

BROKEN = sys.argv[1] if len(sys.argv) > 1 else ""
CAPABILITIES = ["body:bytes", "body:text", *(["odd"] if BROKEN == "odd" else [])]
NODELAY = socket.IPPROTO_TCP, socket.TCP_NODELAY
Connection = http.client.HTTPConnection
connect, getresponse = Connection.connect, Connection.getresponse
kind = ""
options, connections = {}, {}


def body_of(spec):
    if not spec or spec["kind"] == "none":
        return None
    if spec["kind"] not in ("bytes", "text"):
        return NotImplemented
    if "b64" in spec:
        return base64.b64decode(spec["b64"])
    return spec["text"].encode() if "text" in spec else spec.get("fill", "x").encode() * spec["size"]


def request(m):
    body = body_of(m.get("body"))
    if body is NotImplemented or options.get("proxy") or "cancel_after_ms" in m:
        return {"skipped": "this small driver has no such body, no proxies and no cancel"}
    url = urlsplit(m["url"])
    key = (url.scheme, url.netloc)
    try:
        if key not in connections:
            trust = (
                {"context": ssl.create_default_context(cafile=options.get("tls_ca"))} if url.scheme == "https" else {}
            )
            connections[key] = (http.client.HTTPSConnection if trust else http.client.HTTPConnection)(
                url.netloc, **trust
            )
        connection = connections[key]
        connection.timeout = m["timeout_ms"] / 1000 if m.get("timeout_ms") else None
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        target = url.path + ("?" + url.query if url.query else "")
        connection.request(m["method"], target, body, dict(m.get("headers", ())))
        response = connection.getresponse()
        data = response.read()
    except Exception as error:
        if key in connections:
            connections.pop(key).close()
        kinds = {"timeout": TimeoutError, "tls": ssl.SSLError, "reset": ConnectionResetError,
                 "closed": http.client.RemoteDisconnected, "connect": ConnectionRefusedError}  # fmt: skip
        found = next((name for name, kind in kinds.items() if isinstance(error, kind)), "other")
        return {"outcome": "error", "error": {"kind": found, "type": type(error).__name__, "message": str(error)}}
    if options.get("keepalive") is False:
        connections.pop(key).close()
    return {"outcome": "response", "status": response.status, "headers": response.getheaders(),
            "body_bytes": len(data), "body_sha256": hashlib.sha256(data).hexdigest()}  # fmt: skip


def joined(self, message_body=None, encode_chunked=False):
    head = b"\r\n".join([*self._buffer, b"", b""])
    self._buffer.clear()
    if BROKEN == "byte":
        head = head.replace(b"Host:", b"host:")
    self.send(head + (message_body or b""))


def without_nodelay(self):
    connect(self)
    self.sock.setsockopt(*NODELAY, 0)


def nodelay_late(self):
    response = getresponse(self)
    if self.sock is not None:
        self.sock.setsockopt(*NODELAY, 1)
    return response


def hello(m):
    global kind
    kind = m["client"]
    if kind not in ("stock", "onewrite"):
        return {"skipped": "http.client has only itself"}
    if kind == "onewrite":
        if BROKEN not in ("split", "control", "error"):
            Connection._send_output = joined
        if BROKEN in ("late", "control"):
            Connection.connect = without_nodelay
        if BROKEN == "late":
            Connection.getresponse = nodelay_late
    version = platform.python_version()
    return {"protocol": 2, "client": kind, "adapter": "http.client", "runtime": f"CPython {version}", "pid": os.getpid(),
            "base": {"name": "http.client", "version": version}, "capabilities": CAPABILITIES}  # fmt: skip


def answer(m):
    if m["cmd"] == "hello":
        return hello(m)
    if m["cmd"] == "open":
        options.clear()
        options.update(m.get("options") or {})
        return {"client_id": 1}
    if m["cmd"] == "close":
        while connections:
            connections.popitem()[1].close()
    if m["cmd"] != "request":
        return {"ok": True} if m["cmd"] in ("close", "bye") else {"skipped": m["cmd"]}
    if BROKEN == "hung stock" and kind == "stock":
        time.sleep(60)
    reply = request(m)
    if BROKEN == "error" and kind == "onewrite" and reply.get("outcome") == "error":
        reply["error"]["type"] = "OnewriteError"
    return reply


for line in sys.stdin:
    message = json.loads(line)
    print(json.dumps({"seq": message["seq"], **answer(message)}), flush=True)
    if message["cmd"] == "bye":
        break
