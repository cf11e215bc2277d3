"""The request that is sent, and where it is cut in two."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from onewrite_cli import __version__
from onewrite_cli.doctor.route import Route
from onewrite_cli.exit_status import CouldNotRun

__all__ = ["DoctorRequest", "read_body"]

#: A second piece of a full segment is not held by Nagle's algorithm, and would show nothing.
MOST = 1400
#: A second one changes where the request goes, or where it ends.
OWN_HEADERS = ("host", "content-length", "transfer-encoding")


@dataclass(frozen=True)
class DoctorRequest:
    """`first` and `second` are the two writes of the split arms; together they are the whole."""

    method: str
    first: bytes
    second: bytes
    body_bytes: int

    @classmethod
    def to(cls, route: Route, body: bytes | None, headers: list[str]) -> DoctorRequest:
        """A POST is cut between head and body, a GET in its head. Raises CouldNotRun."""
        method = "GET" if body is None else "POST"
        lines = [f"{method} {route.target} HTTP/1.1", f"Host: {route.authority}"]
        rest = [f"User-Agent: onewrite-doctor/{__version__}", "Accept: */*", *_checked(headers)]
        if route.proxy is not None and not route.tls and route.proxy_authorization:
            rest.append(f"Proxy-Authorization: {route.proxy_authorization}")
        if route.authorization and not any(header.lower().startswith("authorization:") for header in headers):
            rest.append(f"Authorization: {route.authorization}")
        if body is None:
            first = ("\r\n".join(lines) + "\r\n").encode()
            return cls(method, first, ("\r\n".join(rest) + "\r\n\r\n").encode(), 0)
        if not any(header.lower().startswith("content-type:") for header in headers):
            rest.append("Content-Type: application/octet-stream")
        rest.append(f"Content-Length: {len(body)}")
        return cls(method, ("\r\n".join([*lines, *rest]) + "\r\n\r\n").encode(), body, len(body))

    @property
    def too_large(self) -> bool:
        return len(self.second) > MOST


def _checked(headers: list[str]) -> list[str]:
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon or not name.strip() or any(ord(character) < 32 for character in header):
            raise CouldNotRun(f"--header {header!r}: write 'Name: value'")
        if name.strip().lower() in OWN_HEADERS:
            raise CouldNotRun(f"--header {name}: the doctor writes it itself")
        try:
            value.encode("latin-1")
        except UnicodeEncodeError as error:
            raise CouldNotRun(f"--header {name}: {error}") from error
    return headers


def read_body(post: str | None, post_bytes: int | None) -> bytes | None:
    """The body to POST, or None for GET. Raises CouldNotRun."""
    if post_bytes is not None:
        return b"x" * post_bytes
    if post is None:
        return None
    try:
        return sys.stdin.buffer.read() if post == "-" else Path(post).read_bytes()
    except OSError as error:
        raise CouldNotRun(f"--post {post}: {error.strerror}") from error
