"""What the tap answers: the `server` part of a case, as data with defaults, and the bytes it makes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

__all__ = ["Answer", "Script", "expand"]

_MACRO = re.compile(r"\{(?:([^{}]+)\*(\d+)|(\w+))\}")


def expand(text: str, names: dict[str, str]) -> str:
    """Replace `{x*200}`, `{X-#: a*3}` (X-0: a, X-1: a, X-2: a) and `{name}`; an unknown name stays as it stands."""

    def one(match: re.Match[str]) -> str:
        if match.group(2):
            text, count = match.group(1), int(match.group(2))
            if len(text) == 1:
                return text * count
            return "".join(text.replace("#", str(number)) for number in range(count))
        return names.get(match.group(3), match.group(0))

    return _MACRO.sub(one, text)


@dataclass
class Answer:
    """One answer; the fields are those of case-v2.schema.json."""

    when: str | dict[str, int] = "complete"
    delay_ms: int = 0
    interim: list[int] = field(default_factory=list)
    interim_gap_ms: int = 0
    interim_when: str | dict[str, int] = "complete"
    continue_: bool = True
    continue_delay_ms: int = 0
    status: int | None = None
    headers: list[list[str]] = field(default_factory=list)
    body: dict[str, Any] = field(default_factory=lambda: {"text": "ok"})
    framing: str = "length"
    chunk_size: int = 4096
    redirect: str | None = None
    raw: str | None = None
    split: dict[str, Any] | None = None
    trickle: dict[str, int] | None = None
    nagle: bool = False
    truncate: int | None = None
    stop_reading: dict[str, int] | None = None
    then: str = "keep"
    then_after_ms: int = 0
    unsolicited: str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
    drop_next_ms: int = 0

    @classmethod
    def of(cls, data: dict[str, Any]) -> Answer:
        return cls(**{("continue_" if key == "continue" else key): value for key, value in data.items()})

    def content(self) -> bytes:
        """The response body as the client should see it."""
        if "text" in self.body:
            return str(self.body["text"]).encode()
        return str(self.body.get("fill", "o")).encode() * int(self.body.get("size", 0))

    @property
    def follows(self) -> str:
        """What the tap does behind the answer."""
        until_close = self.framing == "close" and self.raw is None and self.then == "keep"
        return "close" if until_close else self.then

    def effective_status(self) -> int:
        return self.status or (302 if self.redirect else 200)

    def message(self, method: str, names: dict[str, str]) -> tuple[bytes, bytes]:
        """(head, rest) as they go on the wire."""
        if self.raw is not None:
            whole = expand(self.raw, names).encode("latin-1")
            end = whole.find(b"\r\n\r\n") + 4
            return (whole[:end], whole[end:]) if end > 3 else (whole, b"")
        status = self.effective_status()
        content = self.content()
        bodiless = method == "HEAD" or status in (204, 304)
        lines = [f"HTTP/1.1 {status} {_phrase(status)}"]
        if self.redirect:
            lines.append(f"Location: {expand(self.redirect, names)}")
        lines += [f"{name}: {expand(value, names)}" for name, value in self.headers]
        rest = content
        if status != 204:
            if self.framing == "length":
                lines.append(f"Content-Length: {len(content)}")
            elif self.framing == "chunked":
                lines.append("Transfer-Encoding: chunked")
                step = self.chunk_size
                pieces = [content[at : at + step] for at in range(0, len(content), step)]
                rest = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
            elif self.framing == "close":
                lines.append("Connection: close")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        return head, b"" if bodiless else rest


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unnamed"


@dataclass
class Script:
    """The server of a case."""

    target: str = "server"
    host: str = "127.0.0.1"
    certificate: str = "good"
    tls_max: str | None = None
    mss: int | None = None
    rcvbuf: int | None = None
    accept: list[str] = field(default_factory=lambda: ["serve"])
    proxy: dict[str, Any] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=lambda: [Answer()])
    by_path: dict[str, Answer] = field(default_factory=dict)

    @classmethod
    def of(cls, data: dict[str, Any] | None) -> Script:
        values = dict(data or {})
        if "answers" in values:
            values["answers"] = [Answer.of(answer) for answer in values["answers"]]
        if "by_path" in values:
            values["by_path"] = {path: Answer.of(answer) for path, answer in values["by_path"].items()}
        if isinstance(values.get("accept"), str):
            values["accept"] = [values["accept"]]
        return cls(**values)
