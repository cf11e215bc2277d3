"""Checks on the bytes of requests: form, route, body, and the examples of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from onewrite_lab.tap.answers import expand
from onewrite_lab.tap.exchange import Exchange

from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.contract.bodies import content

__all__ = ["example_problems", "wire_problems"]


def wire_problems(sample: Sample, expect: dict[str, Any], seen: Observation) -> Iterable[str]:
    wire = expect.get("wire", {})
    if wire.get("nothing_sent"):
        arrived = sum(len(exchange.request.wire) or len(exchange.first_piece) for exchange in sample.exchanges)
        if arrived:
            text = f"{arrived} bytes were sent, none was to: {sample.exchanges[0].first_piece[:80]!r}"
            yield text
        return
    for exchange in sample.exchanges[-1:] if sample.counted else ():
        yield from _message_problems(exchange, sample, wire)
    for exchange in sample.exchanges:
        yield from (f"not HTTP/1.1: {problem}" for problem in exchange.request.problems)
        early = exchange.answer is not None and exchange.answer.when != "complete"
        if exchange.complete and exchange.extra and not sample.batch and not early:
            yield f"{exchange.extra} bytes followed the request before it was answered"
        if exchange.via != seen.run.route:
            yield f"the request came {exchange.via}, not by the route {seen.run.route}"
        elif exchange.via == "forward" and not exchange.request.target.startswith("http"):
            yield f"through a forward proxy the target is {exchange.request.target!r}, not in absolute form"
        elif exchange.via != "forward" and exchange.request.target.startswith("http"):
            yield f"the target is in absolute form without a proxy: {exchange.request.target!r}"


def _message_problems(exchange: Exchange, sample: Sample, wire: dict[str, Any]) -> Iterable[str]:
    request = exchange.request
    if "method" in wire and request.method != wire["method"]:
        yield f"method is {request.method}, not {wire['method']}"
    if "target" in wire and request.path != wire["target"]:
        yield f"target is {request.path}, not {wire['target']}"
    for name in wire.get("once", ()):
        if len(request.values(name)) != 1:
            yield f"header {name} was sent {len(request.values(name))} times"
    if "framing" in wire and request.framing != wire["framing"]:
        yield f"the body is framed by {request.framing}, not {wire['framing']}"
    yield from _request_body_problems(exchange, sample, wire.get("body", "as_sent"))


def _request_body_problems(exchange: Exchange, sample: Sample, wanted: str) -> Iterable[str]:
    request = exchange.request
    if wanted == "empty" and request.body:
        yield f"the request has a body of {len(request.body)} bytes"
    if wanted != "as_sent" or not exchange.complete or sample.batch or len(sample.exchanges) > 1:
        return
    body = sample.request.get("body") or {"kind": "none"}
    if body["kind"] in ("form", "multipart"):
        if not request.body:
            yield "the request has no body"
        return
    if bytes(request.body) != content(body):
        yield f"the request body is not what was asked for: {len(request.body)} bytes, not {len(content(body))}"


def example_problems(exchange: Exchange, example: str, names: dict[str, str]) -> Iterable[str]:
    """Compare a request with the bytes of a wire-example (CASES.md)."""
    text = expand(example, {key: value for key, value in names.items() if key not in ("any", "boundary")})
    head, _, body = text.partition("\n\n")
    lines = head.split("\n")
    request = exchange.request
    first = request.head.split(b"\r\n", 1)[0].decode("latin-1")
    boundary: dict[str, str] = {}
    if not _pattern(lines[0], boundary).fullmatch(first):
        yield f"the request line is {first!r}, the example says {lines[0]!r}"
    for line in lines[1:]:
        name, _, value = line.partition(":")
        pattern = _pattern(value.strip(), boundary)
        found = [pattern.fullmatch(actual) for actual in request.values(name)]
        match = next((one for one in found if one), None)
        if match is None:
            yield f"header {name} is {request.values(name) or 'missing'}, the example says {value.strip()!r}"
        elif "boundary" in match.groupdict():
            boundary["value"] = match["boundary"]
    wire = bytes(request.body_wire).decode("latin-1")
    if not _pattern(body.replace("\n", "\r\n"), boundary).fullmatch(wire):
        yield f"the body is {wire[:120]!r}, the example says {body[:120]!r}"


def _pattern(text: str, boundary: dict[str, str]) -> re.Pattern[str]:
    pattern = re.escape(text).replace(r"\{any\}", r"[^\r\n]*")
    if "value" in boundary:
        pattern = pattern.replace(r"\{boundary\}", re.escape(boundary["value"]))
    else:
        pattern = pattern.replace(r"\{boundary\}", r"(?P<boundary>[0-9A-Za-z'()+_,./:=?-]+)", 1)
    return re.compile(pattern, re.S)
