"""Verdicts: sequences, modes, known failures, words of the matrix, reading strace."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from onewrite_conformance.checks.counts import judge_mode
from onewrite_conformance.checks.timing import _event_invariants, sequence_problem
from onewrite_conformance.checks.verdict import Verdict, matches
from onewrite_conformance.checks.wire import example_problems
from onewrite_conformance.contract.places import SCHEMAS
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.report.compliance import word, write_compliance
from onewrite_conformance.report.files import read_jsonl, summary, write_jsonl, write_junit
from onewrite_conformance.run.known import KnownFailures
from onewrite_conformance.run.result import Result, Status
from onewrite_conformance.tap.exchange import Arrival, Exchange
from onewrite_conformance.tap.http1 import RequestParser
from onewrite_conformance.witness.strace import PATH, REQUESTS, read_calls


def events(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "t_ns": at + 1, "attempt": 0} for at, name in enumerate(names)]


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        (["call_start", "*", "call_end"], True),
        (["call_start", "attempt_start", "attempt_end", "call_end"], True),
        (["call_start", "dns_start?", "attempt_start", "attempt_end", "call_end"], True),
        (["call_start", "attempt_start", "call_end"], False),
        (["*", {"name": "call_end", "attempt": 0}], True),
        (["*", {"name": "call_end", "attempt": 1}], False),
        (["*", {"name": "call_end", "t_ns": "$any"}], True),
        (["call_start"], False),
    ],
)
def test_sequences(pattern: list[Any], fits: bool) -> None:
    happened = events("call_start", "attempt_start", "attempt_end", "call_end")
    assert (sequence_problem(happened, pattern) is None) == fits


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["attempt_start", "call_start", "attempt_end", "call_end"], "first event"),
        (["call_start", "attempt_start", "attempt_end"], "0 times"),
        (["call_start", "attempt_start", "call_end", "attempt_end"], "last event"),
        (["call_start", "attempt_start", "tls_start", "attempt_end", "call_end"], "1 tls_start but 0 tls_end"),
        (["call_start", "attempt_start", "request_end", "request_start", "attempt_end", "call_end"], "came after"),
        (["call_start", "attempt_start", "request_start", "request_start", "attempt_end", "call_end"], "2 times"),
    ],
)
def test_event_invariants(names: list[str], said: str) -> None:
    assert any(said in problem for problem in _event_invariants(events(*names), early=False))


def test_time_goes_forward() -> None:
    happened = events("call_start", "attempt_start", "attempt_end", "call_end")
    assert list(_event_invariants(happened, early=False)) == []
    happened[2]["t_ns"] = 1
    assert any("time goes back" in problem for problem in _event_invariants(happened, early=False))


def test_counts() -> None:
    assert matches(1, 1)
    assert matches(2, [1, 2])
    assert matches(2, {"max": 2})
    assert not matches(3, {"max": 2})
    assert not matches(None, {"min": 0})


def test_the_mode_decides_and_odd_counts_need_an_excuse() -> None:
    for values, excuse, problems, unsteady in (
        ([1] * 20, 0, 0, 0),
        ([2] * 20, 0, 1, 0),
        ([1] * 19 + [2], 0, 0, 1),
        ([1] * 19 + [2], 1, 0, 0),
        ([1] * 19 + [None], 0, 0, 0),
    ):
        verdict = Verdict()
        judge_mode("segments", values, 1, verdict, excuse=excuse)
        assert (len(verdict.problems), len(verdict.unsteady)) == (problems, unsteady), values
    verdict = Verdict()
    judge_mode("segments", [None, None], 1, verdict)
    assert verdict.doubts


EXAMPLE = "POST /a HTTP/1.1\nHost: {authority}\nContent-Type: m; boundary={boundary}\n\n--{boundary}\n{x*3}{any}\n--{boundary}--"
SENT = b"POST /a HTTP/1.1\r\nX: y\r\nContent-Type: m; boundary=b1\r\nHost: h:1\r\nContent-Length: 24\r\n\r\n"


@pytest.mark.parametrize(
    ("body", "faults"), [(b"--b1\r\nxxx anything\r\n--b1--", 0), (b"--b2\r\nxxx anything\r\n--b2--", 1), (b"", 1)]
)
def test_examples(body: bytes, faults: int) -> None:
    exchange = Exchange(0, Arrival(0, 1, 2, "direct"), 0, "direct")
    parser = RequestParser()
    parser.feed(SENT.replace(b"24", str(len(body)).encode()) + body)
    exchange.request = parser.request
    assert len(list(example_problems(exchange, EXAMPLE, {"authority": "h:1"}))) == faults


def result(
    status: str, adapter: str = "python", client: str = "onewrite", path: str = "a/onewrite/http/direct"
) -> Result:
    return Result(adapter, path, "a", client, "http", "direct", ["TCP-1"], "MUST", status, ["why \x00"])


def test_known_failures(tmp_path: Path) -> None:
    file = tmp_path / "known-failures.txt"
    file.write_text("# comment\n\nwire-*  not yet\ntcp-1/patched/*/*  older base\nno-reason\n")
    known = KnownFailures(file)
    assert len(known.lines) == 3
    assert "no reason" in known.faults[0]
    line = known.find("wire-post/onewrite/http/direct")
    assert line is not None
    line.passed.append("wire-post/onewrite/http/direct")
    assert known.find("tcp-1/onewrite/http/direct") is None
    names = {"wire-post/onewrite/http/direct", "tcp-1/patched/http/direct", "no-reason/x"}
    assert ["passes now" in text for text in known.stale(names)] == [True]
    assert any("names no case" in text for text in known.stale({"wire-post/onewrite/http/direct"}))


def test_words() -> None:
    assert word([result(Status.OK), result(Status.NOT_APPLICABLE)]) == "ok"
    assert word([result(Status.OK), result(Status.DEVIATES)]) == "deviates"
    assert word([result(Status.OK), result(Status.KNOWN)]) == "deviates"
    assert word([result(Status.OK), result(Status.FAULT)]) == "cannot tell"
    assert word([result(Status.NOT_APPLICABLE)]) == "not applicable"
    assert word([]) == "cannot tell"


def test_reports(tmp_path: Path) -> None:
    results = [
        result(Status.OK),
        result(Status.DEVIATES),
        result(Status.FAULT),
        result(Status.KNOWN),
        result(Status.WARNS),
    ]
    results.append(result(Status.DEVIATES, client="stock"))
    assert summary(results) == "2 passed, 2 failed, 1 skipped"
    write_junit(results, tmp_path / "x.xml", "x")
    suite = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["5", "1", "1", "1"]
    write_jsonl(results, tmp_path / "x.jsonl")
    assert read_jsonl(tmp_path / "x.jsonl") == results
    schema = json.loads((SCHEMAS / "result-v1.schema.json").read_text())
    for line in (tmp_path / "x.jsonl").read_text().splitlines():
        jsonschema.validate(json.loads(line), schema)
    requirements = {"TCP-1": Requirement("TCP-1", "Title", "x:1", "MUST", "It MUST.")}
    write_compliance(results, requirements, [], tmp_path / "C.md")
    row = next(line for line in (tmp_path / "C.md").read_text().splitlines() if line.startswith("| TCP-1"))
    cells = [cell.strip() for cell in row.split("|")[4:-1]]
    assert cells == ["cannot tell", "**deviates**", "cannot tell", "cannot tell"] + [
        "cannot tell", "**deviates**", "cannot tell", "cannot tell"
    ]  # fmt: skip
    lucky = result(Status.OK, path="lucky")
    lucky.tries, lucky.failed_tries, lucky.notes = 4, 1, ["failed 1 of 4, settled; at first: why"]
    write_compliance([lucky], requirements, [], tmp_path / "C.md")
    assert "- python `lucky`: failed 1 of 4, settled" in (tmp_path / "C.md").read_text()


def test_reading_strace() -> None:
    nodelay = "7 setsockopt(5, SOL_TCP, TCP_NODELAY, [1], 4) = 0"
    one = f'7 sendto(5, "POST {PATH} HTTP/1.1\\r\\nHost: 127"..., 300, 0, NULL, 0) = 300'
    head = f'7 sendto(5, "POST {PATH} HTTP/1.1\\r\\nHost: 127"..., 100, 0, NULL, 0) = 100'
    body = '7 sendto(5, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"..., 200, 0, NULL, 0) = 200'
    vector = f'7 writev(5, [{{iov_base="POST {PATH} HTTP", iov_len=100}}, {{iov_base="xxxxxxxxxxxxxxxxxxxxxxx", iov_len=200}}], 2) = 300'
    assert list(read_calls([nodelay] + [one] * REQUESTS)) == []
    assert list(read_calls([nodelay] + [vector] * REQUESTS)) == []
    assert any("body alone" in text for text in read_calls([nodelay] + [head, body] * REQUESTS))
    assert any("never set" in text for text in read_calls([one] * REQUESTS))
    asked = '7 getsockopt(5, SOL_TCP, TCP_INFO, "\\1\\0", [232]) = 0'
    assert any("TCP_INFO" in text for text in read_calls([nodelay] + [one] * REQUESTS + [asked]))
    assert list(read_calls([asked, nodelay] + [one] * REQUESTS)) == []
    quick = "7 setsockopt(5, SOL_TCP, TCP_QUICKACK, [1], 4) = 0"
    assert any("QUICKACK" in text for text in read_calls([nodelay, quick] + [one] * REQUESTS))
