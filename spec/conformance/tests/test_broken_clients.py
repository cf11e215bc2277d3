"""Three broken clients prove the tap end to end; test_mutants.py has all other things that can be broken."""

from __future__ import annotations

import pytest

from conftest import joined_client
from onewrite_conformance.contract.cases import Case
from onewrite_conformance.contract.requirements import Requirement
from onewrite_conformance.run.judge import Judge
from onewrite_conformance.run.result import Status

SOCKET = "tcp/1/nodelay-fresh-connections/onewrite/http/direct"
HELLO = "tcp/1/nodelay-before-handshake/onewrite/https/direct"
WRITE = "wire/1/post-4k/onewrite/http/direct"
TLS_WRITE = "wire/1/post-4k/onewrite/https/direct"


@pytest.mark.parametrize(
    ("broken", "seen"),
    [
        ("", set[str]()),
        ("split", {HELLO, WRITE, TLS_WRITE}),  # http.client itself: two writes, two records
        ("control", {SOCKET, HELLO, WRITE, TLS_WRITE}),
        ("late", {SOCKET, HELLO}),
    ],
)
def test_broken_clients(broken: str, seen: set[str], contract: tuple[list[Case], dict[str, Requirement]]) -> None:
    paths = [SOCKET, HELLO, WRITE, TLS_WRITE]
    with Judge(joined_client(broken), contract[0], only=paths, stock=False) as judge:
        results = list(judge.results())
    assert {one.path: one.problems for one in results if one.status != Status.DEVIATES}.keys() == set(paths) - seen
    assert {one.path for one in results if one.status == Status.DEVIATES} == seen
