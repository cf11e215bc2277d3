"""Random scenarios, and simpler ones derived from them."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from onewrite_conformance.contract.cases import Case

__all__ = ["scenario", "smaller"]

# Around a segment, the coalescing limit, a TLS record and a window.
SIZES = (0, 1, 2, 99, 200, 1300, 1436, 4096, 15900, 16200, 16383, 16384, 16385, 20000, 32768, 65536, 200000)
METHODS = ("POST", "POST", "POST", "PUT", "PATCH", "DELETE")
BODILESS = ("GET", "GET", "GET", "HEAD", "DELETE", "OPTIONS")
NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
VALUE = NAME + "  \t!#$%&'*+.^`|~()<>@,;:\\/[]?={}"
PATH = "abcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/%20"


def scenario(rng: random.Random, kinds: list[str], number: int) -> Case:
    """One random scenario, of the body kinds that the driver can send."""
    steps: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for _ in range(rng.choice((1, 1, 2, 3, 4))):
        answers.append(_answer(rng))
        steps.append({"request": _request(rng, kinds)})
        if answers[-1].get("then") == "close":
            steps.append({"pause_ms": 30})  # whether a closed connection is noticed in time varies from run to run
    server: dict[str, Any] = {"answers": answers}
    if rng.random() < 0.2:
        server["mss"] = 1448
    return Case(
        f"fuzz-{number}",
        "A random scenario",
        ["WIRE-13"],
        steps,
        schemes=[rng.choice(("http", "http", "https"))],
        open={"pool_size": 1, "keepalive": rng.random() > 0.1},
        server=server,
        expect={"stock_equal": ["outcome", "status", "body", "error_type"]},
    )


def _text(rng: random.Random, letters: str, most: int) -> str:
    return "".join(rng.choice(letters) for _ in range(rng.randint(1, most)))


def _request(rng: random.Random, kinds: list[str]) -> dict[str, Any]:
    request: dict[str, Any] = {"path": "/" + _text(rng, PATH, 30).replace("%", "").replace("//", "/").strip(".")}
    # A prefix keeps a random name from meaning something (Host, Connection, ...).
    request["headers"] = [
        ["X-" + _text(rng, NAME, 12), _text(rng, VALUE, 40).strip()] for _ in range(rng.choice((0, 1, 1, 2, 5)))
    ]
    kind = rng.choice(["none", *kinds, *kinds])
    request["method"] = rng.choice(BODILESS if kind == "none" else METHODS)
    request["body"] = _body(rng, kind)
    if rng.random() < 0.5:
        request["timeout_ms"] = 5000
    return request


def _body(rng: random.Random, kind: str) -> dict[str, Any]:
    if kind in ("form", "multipart"):
        pairs = [(_text(rng, NAME, 8), _text(rng, VALUE, 30)) for _ in range(rng.randint(1, 4))]
        if kind == "form":
            return {"kind": kind, "fields": [list(pair) for pair in pairs]}
        fields: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in pairs]
        if rng.random() < 0.4:
            fields.append({"name": "file", "filename": "a.bin", "size": rng.choice(SIZES)})
        return {"kind": kind, "fields": fields}
    if kind == "stream":
        chunks = [max(1, rng.choice(SIZES[1:12])) for _ in range(rng.randint(1, 5))]
        return {"kind": kind, "chunks": chunks, "length": rng.random() < 0.5}
    return (
        {"kind": kind, "size": max(0, rng.choice(SIZES) - rng.choice((0, 0, 0, 150, 300)))}
        if kind != "none"
        else {"kind": kind}
    )


def _answer(rng: random.Random) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "status": rng.choice((200, 200, 200, 201, 204, 400, 404, 500, 503)),
        "body": {"size": rng.choice((0, 2, 2, 100, 5000, 70000))},
        "framing": rng.choice(("length", "length", "chunked", "close")),
    }
    if answer["framing"] == "chunked":
        answer["chunk_size"] = rng.choice((1000, 4096, 30000))
    if answer["status"] == 204:
        answer["framing"] = "length"
    chance = rng.random()
    if chance < 0.1:
        answer["split"] = {"at": rng.choice(("head", 10, 40)), "gap_ms": rng.choice((0, 3))}
    elif chance < 0.2:
        answer["delay_ms"] = rng.choice((1, 5))
    elif chance < 0.25:
        answer["then"] = "close"
    elif chance < 0.3 and answer["body"]["size"] > 1 and answer["status"] != 204:
        answer |= {"truncate": 120, "then": "close"}
    return answer


def smaller(case: Case) -> Iterator[Case]:
    """Scenarios a little simpler than this one, the boldest cuts first."""
    requests = [index for index, step in enumerate(case.do) if "request" in step]
    for index in requests if len(requests) > 1 else ():
        cut = copy.deepcopy(case)
        del cut.do[index]
        if len(cut.server["answers"]) > 1:
            del cut.server["answers"][requests.index(index)]
        yield cut
    if case.schemes == ["https"]:
        yield _changed(case, schemes=["http"])
    if "mss" in case.server:
        yield _changed(case, server={"answers": case.server["answers"]})
    for index, answer in enumerate(case.server["answers"]):
        if answer != {}:
            cut = copy.deepcopy(case)
            cut.server["answers"][index] = {}
            yield cut
        for key in answer:
            if key == "then" and "truncate" in answer:
                continue  # half an answer on an open connection: every client waits for the rest
            cut = copy.deepcopy(case)
            del cut.server["answers"][index][key]
            yield cut
    for index in requests:
        request = case.do[index]["request"]
        for key, plain in (("headers", []), ("path", "/"), ("body", {"kind": "bytes", "size": 200})):
            small = key == "body" and request["body"]["kind"] == "bytes" and request["body"].get("size", 0) <= 200
            if request[key] not in (plain, {"kind": "none"}) and not small:
                cut = copy.deepcopy(case)
                cut.do[index]["request"][key] = plain
                yield cut
        for at in range(len(request["headers"])):
            cut = copy.deepcopy(case)
            del cut.do[index]["request"]["headers"][at]
            yield cut
        if "timeout_ms" in request:
            cut = copy.deepcopy(case)
            del cut.do[index]["request"]["timeout_ms"]
            yield cut
        yield from _smaller_bodies(case, index)


def _smaller_bodies(case: Case, index: int) -> Iterator[Case]:
    body = case.do[index]["request"]["body"]
    for key in ("chunks", "fields"):
        for at in range(len(body.get(key, ())) if len(body.get(key, ())) > 1 else 0):
            cut = copy.deepcopy(case)
            del cut.do[index]["request"]["body"][key][at]
            yield cut
    if body.get("size", 0) > 1:
        cut = copy.deepcopy(case)
        cut.do[index]["request"]["body"]["size"] = body["size"] // 2
        yield cut
    for at, size in enumerate(body.get("chunks", ())):
        if size > 1:
            cut = copy.deepcopy(case)
            cut.do[index]["request"]["body"]["chunks"][at] = size // 2
            yield cut


def _changed(case: Case, **fields: Any) -> Case:
    cut = copy.deepcopy(case)
    for name, value in fields.items():
        setattr(cut, name, value)
    return cut
