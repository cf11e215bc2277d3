"""The tracers and mocks that people run, with onewrite: what they record and answer is what they do over stock.

A scenario is one process (``scenario.py``). What it sees is compared with the same scenario without onewrite:
results, errors, spans, the headers that arrive at the server. What reaches the server arrives in one segment.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import typing

import pytest

from tap import Peer, Seen, Tap, mode, reply

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from tools import TOOLS

HERE = pathlib.Path(__file__).parent
PYTHON = HERE.parent.parent / ".venv-tracers" / "bin" / "python"
ORDERS = ("tool-first", "onewrite-first")
WAYS = [("installed", "plain"), ("installed", "hooks"), ("own", "plain"), ("own", "hooks")]

Scenario = tuple[str, str, str, str]


def answer(peer: Peer, seen: Seen) -> None:
    """The server's answer, by path."""
    method, path, _ = seen.line.split(" ")
    if path == "/missing":
        peer.send(reply(b"no such thing", "404 Not Found", "Content-Type: text/plain"))
    elif path == "/redirect":
        peer.send(reply(b"", "302 Found", "Location: /get"))
    elif method == "HEAD":
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    else:
        peer.send(reply(f"{method} {len(seen.body)}".encode(), "200 OK", "Content-Type: text/plain"))


class Played(typing.NamedTuple):
    """What a scenario printed, and what the server saw of it."""

    told: dict[str, typing.Any]
    seen: list[Seen]


#: What differs between two runs of anything: ports, ids, addresses and times.
VARYING = [(re.compile(r"127\.0\.0\.1:\d+"), "HOST"), (re.compile(r"localhost:\d+"), "HOST")]


def play(scenario: Scenario) -> Played:
    """Run it against a server of its own."""
    # A port that is bound and does not listen.
    with Tap(answer) as tap, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}"
        name, way, order, hooks = scenario
        done = subprocess.run(
            [str(PYTHON), str(HERE / "scenario.py"), name, way, order, hooks, tap.url("").rstrip("/"), dead],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={key: value for key, value in os.environ.items() if "proxy" not in key.lower()},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        line = done.stdout.rstrip().rpartition("\n")[2]
        ids = json.loads(line)["ids"]  # as they are: a port's digits may stand in one of them
        for pattern, instead in VARYING:
            line = pattern.sub(instead, line)
        line = line.replace(str(tap.port), "PORT").replace(dead.rpartition(":")[2], "DEAD")
        assert not tap.errors
        return Played({**json.loads(line), "ids": ids}, tap.seen)


@pytest.fixture(scope="session")
def played(request: pytest.FixtureRequest) -> typing.Iterator[typing.Callable[..., Played]]:
    """Plays each scenario once; those of the selected tests start in the background."""
    wanted: dict[Scenario, None] = {}
    for item in request.session.items:
        if item.module is sys.modules[__name__] and hasattr(item, "callspec"):
            tool, order, (way, hooks) = (item.callspec.params[name] for name in ("tool", "order", "way"))
            wanted[tool, "stock", order, "plain"] = wanted[tool, way, order, hooks] = None
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {scenario: pool.submit(play, scenario) for scenario in wanted}
        yield lambda *scenario: running[scenario].result()
        pool.shutdown(cancel_futures=True)


def propagated(played: Played) -> int:
    """How many requests carry the id of a span that the tool has recorded."""
    ids = set(played.told["ids"]) - {""}
    carried = 0
    for one in played.seen:
        header = one.header("traceparent") or one.header("sentry-trace") or "----"
        carried += bool(ids & set(header.split("-")))
    return carried


def limit(tool: str, order: str, way: tuple[str, str]) -> str | None:
    """Why a tool that comes first is not as with stock."""
    if (tool, order, way[0]) == ("vcrpy", "tool-first", "own"):
        return "its connection hides urllib3's from an own manager"
    if (tool, order, way[1]) == ("pook", "tool-first", "hooks"):
        return "at its end it restores the urlopen() that it found, without ours"
    return None


@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("tool", TOOLS)
def test_as_with_stock(
    tool: str,
    order: str,
    way: tuple[str, str],
    played: typing.Callable[..., Played],
    request: pytest.FixtureRequest,
) -> None:
    if reason := limit(tool, order, way):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    stock, ours = played(tool, "stock", order, "plain"), played(tool, way[0], order, way[1])

    for client, result in stock.told["results"].items():
        assert ours.told["results"][client]["seen"] == result["seen"], client
        assert ours.told["results"][client].get("afterwards") == result.get("afterwards"), client
    assert ours.told["spans"] == stock.told["spans"]
    assert [one.line for one in ours.seen] == [one.line for one in stock.seen]
    assert [headers(one) for one in ours.seen] == [headers(one) for one in stock.seen]
    assert propagated(ours) == propagated(stock)

    # In the stock scenario the tool has recorded or mocked.
    if TOOLS[tool].mocks:
        assert stock.told["mocked"] == 3 * len(TOOLS[tool].clients)
    else:
        assert len(stock.told["spans"]) >= 27 * len(TOOLS[tool].clients)
        assert propagated(stock) >= 26 * len(TOOLS[tool].clients)

    judged = [one for one in ours.seen if one.line.startswith("POST /judged")]
    assert len(judged) >= 20
    assert mode(one.segments for one in judged) == 1

    assert ours.told["hook failures"] == 0
    if way[1] == "hooks":
        for client in TOOLS[tool].clients:
            timings = ours.told["results"][client]["timings"]
            assert timings.count("POST ok 200") == 22, client
            assert len(timings) >= 27, client


def headers(seen: Seen) -> list[str]:
    """The names of a request's headers, as they came."""
    return [line.partition(b":")[0].decode() for line in seen.head.split(b"\r\n")[1:] if line]
