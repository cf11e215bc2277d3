#!/usr/bin/env python3
"""Python's own http.client under the judge: a driver with nothing but the standard library.

python -m onewrite_conformance --driver "examples/http_client_driver.py" --client stock
"""

import base64
import hashlib
import http.client
import json
import os
import platform
import ssl
import sys
import traceback
from urllib.parse import urlsplit

CAPABILITIES = ["body:bytes", "body:text"]
KINDS = ["stock"]
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


def answer(m):
    if m["cmd"] == "hello":
        if m["client"] not in KINDS:
            return {"skipped": "http.client has only itself"}
        return {"protocol": 2, "client": m["client"], "adapter": "http.client", "runtime": f"CPython {platform.python_version()}", "pid": os.getpid(),
                "base": {"name": "http.client", "version": platform.python_version()}, "capabilities": CAPABILITIES}  # fmt: skip
    if m["cmd"] == "open":
        options.clear()
        options.update(m.get("options") or {})
        return {"client_id": 1}
    if m["cmd"] == "close":
        while connections:
            connections.popitem()[1].close()
        return {"ok": True}
    return request(m) if m["cmd"] == "request" else {"ok": True} if m["cmd"] == "bye" else {"skipped": m["cmd"]}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        try:
            reply = answer(message)
        except Exception:
            reply = {"crashed": traceback.format_exc()}
        print(json.dumps({"seq": message["seq"], **reply}), flush=True)
        if message["cmd"] == "bye":
            break


if __name__ == "__main__":
    main()
