"""The bytes of request bodies, as PROTOCOL.md describes them."""

from __future__ import annotations

import base64
from typing import Any

__all__ = ["content"]


def content(body: dict[str, Any] | None) -> bytes:
    """The bytes that a body of PROTOCOL.md stands for (form and multipart excepted)."""
    if not body or body["kind"] == "none":
        return b""
    if "b64" in body:
        return base64.b64decode(str(body["b64"]))
    if "text" in body:
        return str(body["text"]).encode()
    size: int = sum(body["chunks"]) if "chunks" in body else int(body.get("size", 0))
    return str(body.get("fill") or "x").encode() * size
