"""Request bodies of the protocol, in the forms that users of urllib3 and requests pass."""

from __future__ import annotations

import base64
import io
import tempfile
import time
import typing

KINDS = ["none", "bytes", "text", "memory_file", "file", "form", "multipart", "stream"]

Spec = dict[str, typing.Any]


class Body(typing.NamedTuple):
    """Exactly one of data, fields and multipart is given, or none of them."""

    data: typing.Any = None
    length: int | None = None  # for Content-Length, where the library cannot tell
    fields: list[tuple[str, str]] | None = None
    multipart: list[tuple[str, typing.Any]] | None = None
    close: typing.Callable[[], None] | None = None


def _content(spec: Spec) -> bytes:
    if "b64" in spec:
        return base64.b64decode(spec["b64"])
    if "text" in spec:
        return str(spec["text"]).encode("utf-8")
    return str(spec.get("fill", "x")).encode("utf-8") * int(spec.get("size", 0))


def _chunks(spec: Spec, left: list[int]) -> typing.Iterator[bytes | bytearray]:
    gap = spec.get("gap_ms", 0) / 1000
    first = True
    buffer = bytearray()
    while left:
        if not first and gap:
            time.sleep(gap)
        first = False
        chunk = spec.get("fill", "x").encode("utf-8") * left.pop(0)
        if spec.get("reuse"):
            buffer[:] = chunk.replace(b"x", b"%x" % (len(left) % 16))
        yield buffer if spec.get("reuse") else chunk


class SizedStream:
    """An iterable with a length, which requests sends as a stream with Content-Length."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def __len__(self) -> int:
        return self.body.length or 0

    def __iter__(self) -> typing.Iterator[bytes]:
        return iter(self.body.data)


def make(spec: Spec | None) -> Body:
    kind = (spec or {}).get("kind", "none")
    if spec is None or kind == "none":
        return Body()
    if kind == "bytes":
        return Body(_content(spec))
    if kind == "text":
        return Body(_content(spec).decode("utf-8"))
    if kind == "memory_file":
        content = _content(spec)
        memory = io.BytesIO(content)
        return Body(memory, len(content) - memory.seek(spec.get("position", 0)))
    if kind == "file":
        content = _content(spec)
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the request is over
        file.write(content)
        return Body(file, len(content) - file.seek(spec.get("position", 0)), close=file.close)
    if kind == "form":
        return Body(fields=[(name, value) for name, value in spec["fields"]])
    if kind == "multipart":
        fields: list[tuple[str, typing.Any]] = []
        for field in spec["fields"]:
            if "filename" in field:
                content = _content({"size": field.get("size", 0), "fill": field.get("fill", "x")})
                fields.append((field["name"], (field["filename"], content)))
            else:
                fields.append((field["name"], field["value"]))
        return Body(multipart=fields)
    if kind == "stream":
        length = spec.get("declared_size", sum(spec["chunks"])) if spec.get("length") else None
        return Body(_chunks(spec, list(spec["chunks"])), length)
    raise ValueError(f"unknown body kind {kind!r}")
