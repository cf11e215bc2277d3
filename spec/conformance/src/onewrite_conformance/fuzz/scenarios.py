"""Random scripts for the tap and random requests, plain and odd. hypothesis makes and shrinks them."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from hypothesis import strategies as some

__all__ = ["LIMIT_MS", "scenarios"]

LIMIT_MS = 300  # of requests that may wait for ever: a length that is larger than the body

# Around a segment, the limit of joining, a TLS record and a window.
SMALL = [0, 1, 2, 99, 200, 1300, 1436, 4096]
SIZES = [*SMALL, 15900, 16200, 16383, 16384, 16385, 20000, 65536, 200000]
NAME = "abcXYZ019-_"
VALUE = "abcXYZ019 !#$%&'*+.^`|~()<>@,;:/[]?={}"
ODD = '\x00\x01\t\n\r\x0b\x1b\x7f äÄé\xff春:;,"\\'
IN_PIECES = {"stream", "file", "memory_file", "multipart"}  # bodies whose end a client notes after it has sent all
STATUSES = [200, 200, 201, 204, 304, 400, 404, 500, 503]
METHODS = ["POST", "POST", "PUT", "PATCH", "DELETE", "GET", "HEAD", "OPTIONS"]

PLAIN_ANSWERS = (
    "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
)
HINTED = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.0 404 Not Found\r\n\r\nhello"
PIECES = [
    "\n",
    "\r",
    "\t",
    " ",
    "Content-Length: 6\r\n",
    "Transfer-Encoding: gzip\r\n",
    " folded\r\n",
    "nonsense\r\n",
    ";a=b",
    "{x*9000}",
]

# What an answer does besides.
MORE: list[dict[str, Any]] = [
    {},
    {},
    {},
    {"split": {"at": "head", "gap_ms": 2}},
    {"split": {"at": 10, "gap_ms": 0}},
    {"delay_ms": 3},
    {"then": "close", "then_after_ms": 20},
    {"truncate": 120, "then": "close"},
    {"truncate": 0, "then": "close"},
    {"headers": [["Connection", "close"]]},
    {"headers": [["X-A", "a\x01b"]]},
    {"interim": [103]},
]

Strategy = some.SearchStrategy[Any]

# Each strategy is made once: to make it costs more than to draw from it.


@cache
def _text(letters: str, most: int, least: int = 0) -> Strategy:
    return some.text(letters, min_size=least, max_size=most)


@lru_cache(None, typed=True)
def _one_of(*values: Any) -> Strategy:
    return some.sampled_from(values)


@cache
def _rarely(odd: Strategy, plain: Strategy, of: int = 8) -> Strategy:
    """One of `of` draws is odd. hypothesis shrinks to a plain one."""
    return some.integers(0, of - 1).flatmap(lambda number: odd if number == of - 1 else plain)


@cache
def _fields() -> Strategy:
    plain = some.tuples(_text(NAME, 10, 1).map(lambda name: f"X-{name}"), _text(VALUE, 30).map(str.strip))
    odd = some.one_of(
        some.tuples(_text(NAME + ODD, 6), _text(VALUE, 6)),
        some.tuples(_text(NAME, 6, 1).map(lambda name: f"X-{name}"), _text(VALUE + ODD, 12)),
        some.sampled_from([("Connection", "close"), ("TE", "trailers"), ("Host", "other.example"), ("Accept", "")]),
    )
    return some.lists(_rarely(odd, plain).map(list), max_size=4)


@cache
def _target() -> Strategy:
    plain = _text("abc019-._~!$&'()*+,;=:@", 20)
    return _rarely(_text("abc/%?#" + ODD, 10), plain).map(lambda rest: f"/{rest}")


@cache
@some.composite
def _request(draw: Any, kinds: tuple[str, ...], small: bool) -> dict[str, Any]:
    kind = draw(_one_of("none", *kinds))
    methods = _one_of("GET", *METHODS) if kind == "none" else _one_of(*METHODS)
    request: dict[str, Any] = {
        "method": draw(_rarely(_text("GETpost" + ODD, 6), methods, of=12)),
        "path": draw(_target()),
        "headers": draw(_fields()),
        "body": draw(_body(kind, small)),
    }
    size = request["body"].get("size")
    if size is not None and kind in ("bytes", "text"):
        length = draw(_rarely(_one_of("right", "less", "more", "none", "twice", "both", "word"), _one_of(None)))
        request["headers"] += _length(length, size)
        if length in ("more", "both", "word", "twice"):
            request["timeout_ms"] = LIMIT_MS
    if kind != "none" and draw(_rarely(_one_of(True), _one_of(False), of=16)):
        request["headers"].append(["Expect", "100-continue"])
    texts = [request["method"], request["path"], *(text for pair in request["headers"] for text in pair)]
    if any(letter in ODD for text in texts for letter in text):
        request["timeout_ms"] = LIMIT_MS  # what arrives may be no whole request
    request.setdefault("timeout_ms", 2000)  # a driver that hangs would cost each replay ten seconds
    return request


def _length(how: str | None, size: int) -> list[list[str]]:
    name = "Content-Length"
    return {
        "right": [[name, str(size)]],
        "less": [[name, str(size // 2)]],
        "more": [[name, str(size + 7)]],
        "twice": [[name, str(size)], [name, str(size)]],
        "both": [[name, str(size)], ["Transfer-Encoding", "chunked"]],
        "word": [[name, f"{size}x"]],
    }.get(how or "", [])


@cache
def _body(kind: str, small: bool) -> Strategy:
    sizes = SMALL if small else SIZES
    size = some.sampled_from(sizes)
    pair = some.tuples(_text(NAME, 8, 1), _text(VALUE, 20))
    if kind == "form":
        fields = some.lists(pair.map(list), min_size=1, max_size=3)
        return some.fixed_dictionaries({"kind": some.just(kind), "fields": fields})
    if kind == "multipart":
        value = pair.map(lambda one: {"name": one[0], "value": one[1]})
        file = size.map(lambda size: {"name": "file", "filename": "a.bin", "size": size})
        fields = some.lists(some.one_of(value, file), min_size=1, max_size=3)
        return some.fixed_dictionaries({"kind": some.just(kind), "fields": fields})
    if kind == "stream":
        chunks = some.lists(some.sampled_from(sizes[:12]), max_size=4)
        return some.fixed_dictionaries({"kind": some.just(kind), "chunks": chunks, "length": some.booleans()})
    if kind == "none":
        return some.just({"kind": kind})
    return some.fixed_dictionaries({"kind": some.just(kind), "size": size})


@some.composite
def _odd_answer(draw: Any, hints: bool) -> dict[str, Any]:
    """A plain answer with a piece inserted or replaced, and then a close."""
    raw = draw(_one_of(*PLAIN_ANSWERS, HINTED) if hints else _one_of(*PLAIN_ANSWERS))
    at = draw(some.integers(0, len(raw)))
    piece = draw(_piece())
    answer: dict[str, Any] = {"raw": raw[:at] + piece + raw[at + draw(_one_of(0, 1, 2, 3)) :], "then": "close"}
    if draw(_one_of(False, True)):
        answer["trickle"] = {"bytes": 9, "gap_ms": 0}
    return answer


@cache
def _piece() -> Strategy:
    return some.one_of(_one_of(*PIECES), _text("0123456789abcdefx+-:;, \r\n\t\x00\x01", 4))


@some.composite
def _plain_answer(draw: Any, hints: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "status": draw(_one_of(*STATUSES)),
        "body": {"size": draw(_one_of(2, 0, 100, 5000, 70000))},
        "framing": draw(_one_of("length", "chunked", "close")),
    }
    if answer["status"] in (204, 304):
        answer["framing"] = "length"
    more = MORE if hints else [one for one in MORE if "interim" not in one]
    answer |= more[draw(some.integers(0, len(more) - 1))]
    if "truncate" in answer and answer["status"] in (204, 304):
        answer["status"] = 200
    return answer


@cache
def _answer(hints: bool) -> Strategy:
    return _rarely(_odd_answer(hints), _plain_answer(hints), of=4)


@some.composite
def scenarios(draw: Any, can: frozenset[str]) -> dict[str, Any]:
    """A case without name: open, server, schemes, routes, do. `can` has the capabilities of both clients.

    Nothing in it races. The next request comes after the tap has done all that follows an answer. An answer comes after
    the client has noted the end of its own body (undici closes a connection on which the answer came first).

    Bodies are small behind an odd answer. A client that keeps the connection, because the answer has more bytes than it
    announced, sends the next request to a closed socket. Of several writes the second fails; a joined write does not.

    A client that lacks `informational` takes a 103 for the answer, and reads the answer behind it on a connection that
    it already holds for free: there is no 103 for it. Net::HTTP does so where a request waits for 100 Continue.
    """
    kinds = tuple(sorted(name.partition(":")[2] for name in can if name.startswith("body:")))
    steps: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for _ in range(draw(_one_of(1, 2, 3, 4))):
        request = draw(_request(kinds, bool(answers) and "raw" in answers[-1]))
        waits = any(name == "Expect" for name, _ in request["headers"])
        answer = draw(_answer("informational" in can and not waits))
        if request["body"]["kind"] in IN_PIECES:
            answer.setdefault("delay_ms", 5)
        answers.append(answer)
        steps += [{"request": request}, {"pause_ms": 5}]
    options: dict[str, Any] = {"pool_size": 1, "keepalive": draw(_rarely(_one_of(False), _one_of(True)))}
    # undici refuses a wrong length when the head has left; with onewrite it has not: a batch would differ.
    lengths = [
        name
        for step in steps
        if "request" in step
        for name, _ in step["request"]["headers"]
        if name == "Content-Length"
    ]
    if "concurrency" in can and draw(_rarely(_one_of(True), _one_of(False))) and not lengths:
        # All have the same answer, and each has a connection: which one gets which is chance.
        options["pool_size"] = count = draw(_one_of(2, 4))
        answers.append({"delay_ms": 30, "body": {"size": draw(_one_of(2, 5000))}})
        steps.append({"batch": {"request": draw(_batched(kinds)), "count": count}})
    scheme = draw(_one_of("http", "http", "https"))
    route = "forward" if scheme == "http" else "connect"
    if f"proxy_{route}" not in can or not draw(_rarely(_one_of(True), _one_of(False), of=4)):
        route = "direct"
    return {"schemes": [scheme], "routes": [route], "open": options, "server": {"answers": answers}, "do": steps}


@cache
@some.composite
def _batched(draw: Any, kinds: tuple[str, ...]) -> dict[str, Any]:
    """A plain request, which nothing but its neighbours disturbs."""
    kind = draw(_one_of("none", *(one for one in kinds if one != "multipart")))
    return {"method": "GET" if kind == "none" else "POST", "body": draw(_body(kind, False)), "timeout_ms": 4000}
