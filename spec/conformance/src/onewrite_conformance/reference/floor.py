"""The send-side floor: what is refused before a byte is sent (06-security.md)."""

from __future__ import annotations

import re

from onewrite_conformance.reference.bodies import Body
from onewrite_conformance.reference.errors import CallError
from onewrite_conformance.reference.mutants import broken

__all__ = ["check"]

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*\Z")
TARGET = re.compile(r"[\x21-\x7e\x80-\U0010ffff]+\Z")  # what is not ASCII is percent-encoded later


def check(method: str, target: str, headers: list[list[str]], body: Body) -> None:
    """Raise CallError("invalid_request") for what must not be sent."""
    if not broken("crlf"):
        _characters(method, target, headers)
    lengths = [value for name, value in headers if name.lower() == "content-length"]
    codings = [value for name, value in headers if name.lower() == "transfer-encoding"]
    if lengths and codings and not broken("both_framings"):
        raise _refused("Content-Length and Transfer-Encoding together: remove one")
    if codings and (body.length is not None or body.absent) and not broken("both_framings"):
        raise _refused("Transfer-Encoding with a body whose length is known: remove it")
    if broken("wrong_length"):
        return
    if len(set(lengths)) > 1 or any(not re.fullmatch("[0-9]+", value) for value in lengths):
        raise _refused(f"Content-Length {lengths} is not one number")
    if lengths and body.data is not None and int(lengths[0]) != len(body.data):
        raise _refused(f"Content-Length is {lengths[0]}, the body has {len(body.data)} bytes")
    if lengths and body.absent and int(lengths[0]) != 0:
        raise _refused(f"Content-Length is {lengths[0]}, there is no body")


def _characters(method: str, target: str, headers: list[list[str]]) -> None:
    if not TOKEN.match(method):
        raise _refused(f"method {method!r} is no token (RFC 9110 5.6.2)")
    if not TARGET.match(target):
        raise _refused(f"target {target!r} carries a space or a control character: percent-encode it")
    for name, value in headers:
        if not TOKEN.match(name):
            raise _refused(f"header name {name!r} is no token (RFC 9110 5.6.2)")
        if not VALUE.match(value):
            raise _refused(f"the value of header {name} carries a control character (RFC 9110 5.5)")


def _refused(message: str) -> CallError:
    return CallError("invalid_request", message)
