"""Bodies of the driver protocol, as the reference sends them."""

from __future__ import annotations

import io
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from onewrite_conformance.contract.bodies import content
from onewrite_conformance.reference.mutants import broken

__all__ = ["Body", "make_body"]


@dataclass
class Body:
    """`data` is in memory; otherwise `pieces` may block. `length` None means chunked."""

    data: bytes | None = None
    pieces: Iterator[tuple[bytes, bool]] | None = None  # (piece, whether it is known to be the last)
    length: int | None = None
    content_type: str | None = None
    file: io.BytesIO | None = None  # the object in the caller's hands

    def position(self, own: bool) -> int | None:
        return None if self.file is None else 0 if broken("body_position") and own else self.file.tell()

    @property
    def absent(self) -> bool:
        return self.data is None and self.pieces is None


def make_body(spec: dict[str, Any] | None) -> Body:
    kind = (spec or {"kind": "none"})["kind"]
    if spec is None or kind == "none":
        return Body()
    if kind == "memory_file":
        file = io.BytesIO(content(spec))
        return Body(file.read(), length=file.tell(), file=file)
    if kind == "form":
        data = urllib.parse.urlencode([(name, value) for name, value in spec["fields"]]).encode()
        return Body(data, length=len(data), content_type="application/x-www-form-urlencoded")
    if kind == "stream":
        length = spec.get("declared_size", sum(spec["chunks"])) if spec.get("length") else None
        return Body(pieces=_stream(spec), length=length)
    data = content(spec)
    return Body(data, length=len(data))


def _stream(spec: dict[str, Any]) -> Iterator[tuple[bytes, bool]]:
    sizes = [size for size in spec["chunks"] if size]
    for index, size in enumerate(sizes):
        if index and spec.get("gap_ms"):
            time.sleep(spec["gap_ms"] / 1000)
        yield b"x" * size, index + 1 == len(sizes)
