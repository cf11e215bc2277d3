"""Plays one run: starts the tap, sends the driver its commands, and keeps the observation."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from onewrite_lab import witness
from onewrite_lab.certificates import shared
from onewrite_lab.tap.answers import Script, expand
from onewrite_lab.tap.exchange import Arrival, Exchange
from onewrite_lab.tap.server import Tap
from onewrite_lab.witness.netstat import read_loss

from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.contract.cases import Run
from onewrite_conformance.driver import Driver, OpenRefused

__all__ = ["play"]

PATIENCE_S = 4.0
QUIET_MS = 20  # a connection that is about to be closed is closed by then,
QUIET_ENDING_MS = 150  # or by then where the client has a reason to: a failed call, or a connection that is not kept


def play(
    run: Run,
    driver: Driver,
    trace: Callable[[str], None] | None = None,
    api: str | None = None,
    hooks: str | None = None,
) -> Observation:
    """Play the run, through this `api` of the base library, with these `hooks` where the driver has any.

    Raises DriverFault and DriverSkipped.
    """
    seen = Observation(run, capabilities=driver.capabilities)

    named = bool(run.case.open.get("socket_options"))
    expect = run.expect()
    same = set(run.case.same)
    # Of no_more_segments only stock's TCP_NODELAY counts: what Nagle's algorithm joined for it is no measure.
    watched = not same or bool(same & {"segments", "nodelay"}) or ("no_more_segments" in same and run.client == "stock")

    def reading_of(arrival: Arrival) -> witness.SocketReading | None:
        """The kernel's account of the client's end of a connection."""
        if seen.witness_fault is not None:
            return None
        try:
            readings = witness.connections(driver.pid, arrival.local_port, options=named)
        except (witness.WitnessError, ProcessLookupError) as error:
            seen.witness_fault = str(error)
            return None
        return next((one for one in readings if one.local_port == arrival.peer_port), None)

    def look(exchange: Exchange) -> None:
        """Read the client's socket at the first request of each connection, at those of several segments, and at each
        where TCP_NODELAY is expected: a wrong reading stays."""
        arrival = exchange.arrival
        if arrival.nodelay is None or "nodelay" in expect or (exchange.segments != 1 and not same):
            reading = reading_of(arrival)
            if reading is not None:
                if arrival.nodelay in (None, expect.get("nodelay")):
                    arrival.nodelay = reading.nodelay
                arrival.client_options = reading.options
                exchange.sent_twice = reading.total_retrans - arrival.retransmits
                arrival.retransmits = reading.total_retrans

    def look_at_hello(arrival: Arrival) -> None:
        reading = reading_of(arrival)
        arrival.nodelay_at_hello = None if reading is None else reading.nodelay

    freeze_ms = 0

    def arrived(exchange: Exchange) -> None:
        if watched:
            look(exchange)
        if freeze_ms:
            _freeze(driver.pid, freeze_ms)

    before = read_loss()
    tap = Tap(
        Script.of(run.case.server),
        scheme=run.scheme,
        route=run.route,
        on_request=arrived,
        trace=trace,
    )
    if "nodelay_at_hello" in expect:
        tap.on_hello = look_at_hello
    try:
        seen.names = tap.names
        options = _options(run, tap, driver, hooks) | ({"api": api} if api else {})
        seen.hooked = options.get("hooks", "none") != "none"
        try:
            client = driver.open(**options)
        except OpenRefused as refused:
            _refused(seen, refused, tap)
            return seen
        try:
            for index, step in enumerate(run.case.do):
                freeze_ms = step.get("freeze_ms", 0)
                if "reopen" in step:
                    driver.close(client)
                    client = driver.open(**options)
                elif "pause_ms" in step:
                    _pause(tap, step["pause_ms"])
                else:
                    _step(seen, index, step, tap, driver, client, trace)
            answered = all(sample.reply["outcome"] == "response" for sample in seen.samples)
            tap.settle(0.5 if answered else 0.1)
            if same:
                kept = answered and run.case.open.get("keepalive", True) and not _close_said(tap)
                seen.ended_before_close = _ended(tap, QUIET_MS if kept else QUIET_ENDING_MS)
        finally:
            if driver.alive:
                driver.close(client)
        if expect.get("all_closed") or "closed" in same:
            seen.left_open = _left_open(tap)
        seen.warnings = _warnings(driver, expect.get("warns", ()))
    finally:
        tap.close()
    seen.exchanges, seen.arrivals, seen.tap_faults = tap.exchanges, tap.arrivals, tap.faults
    seen.loss = read_loss() - before
    seen.ended_unix_ns = time.time_ns()
    return seen


def _freeze(pid: int, milliseconds: int) -> None:
    """Stop the driver for so long, so that it does not read an answer that has come."""
    time.sleep(0.03)  # until it has returned from its last write and waits
    os.kill(pid, signal.SIGSTOP)
    thaw = threading.Timer(milliseconds / 1000, os.kill, (pid, signal.SIGCONT))
    thaw.daemon = True
    thaw.start()


def _within(seconds: float, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.005)


def _pause(tap: Tap, milliseconds: int) -> None:
    """Wait until the tap has sent all of its answers and closed what it closes behind them, then `milliseconds` more.

    Without the first part the next request would race with the end of its connection on a busy machine.
    """
    _within(PATIENCE_S, lambda: not any(_busy(exchange) for exchange in list(tap.exchanges)))
    time.sleep(milliseconds / 1000)


def _busy(exchange: Exchange) -> bool:
    """Whether the tap has yet to answer a whole request, or to close its connection, or to send unsolicited bytes."""
    answer = exchange.answer
    if answer is None or exchange.arrival.ended or (answer.when == "complete" and not exchange.complete):
        return False
    if answer.follows in ("close", "reset", "unsolicited"):
        return not exchange.followed
    return exchange.complete and not exchange.answered_ns


def _close_said(tap: Tap) -> bool:
    """Whether a request or an answer said that its connection is not kept."""
    values = [value for one in tap.exchanges for value in one.request.values("connection")]
    values += [
        value for one in tap.exchanges if one.answer for name, value in one.answer.headers if "onnection" in name
    ]
    return any("close" in value.lower() for value in values)


def _ended(tap: Tap, quiet_ms: int) -> frozenset[int]:
    """The connections that have ended, once nothing ends any more."""
    count = -1
    while count != (count := sum(arrival.ended for arrival in tap.arrivals)):
        _pause(tap, quiet_ms)
    return frozenset(arrival.index for arrival in tap.arrivals if arrival.ended)


def _left_open(tap: Tap) -> int:
    """Connections that are still open a while after the client was closed."""
    _within(PATIENCE_S, lambda: all(arrival.ended for arrival in tap.arrivals))
    return sum(not arrival.ended for arrival in tap.arrivals)


def _warnings(driver: Driver, names: Sequence[str]) -> dict[str, int]:
    """Lines of the driver's stderr that hold each name; stderr may lag behind stdout."""

    def counts() -> dict[str, int]:
        return {name: sum(name in line for line in driver.log().splitlines()) for name in names}

    _within(PATIENCE_S, lambda: all(counts().values()))
    return counts()


def _refused(seen: Observation, refused: OpenRefused, tap: Tap) -> None:
    """The client could not be opened: that is the outcome of every request of the case."""
    seen.names = tap.names
    for index, step in enumerate(seen.run.case.do):
        if "request" in step:
            seen.samples.append(Sample(_message(step["request"], tap, seen.run), refused.reply, [], True, index))


def _options(run: Run, tap: Tap, driver: Driver, hooks: str | None = None) -> dict[str, Any]:
    options = dict(run.case.open) | ({"hooks": hooks} if hooks else {})
    if run.scheme == "https":
        options["tls_ca"] = shared().ca_file
    if tap.proxy_url:
        options["proxy"] = tap.proxy_url
    if "timing" not in driver.capabilities:
        options.pop("hooks", None)
    if run.client == "stock":
        options.pop("adapter", None)
    return options


def _step(
    seen: Observation,
    index: int,
    step: dict[str, Any],
    tap: Tap,
    driver: Driver,
    client: int,
    trace: Callable[[str], None] | None,
) -> None:
    warmup, repeat = step.get("warmup", 0), step.get("repeat", 1)
    for turn in range(warmup + repeat):
        if turn and step.get("gap_ms"):
            _pause(tap, step["gap_ms"])
        counted = turn >= warmup
        before = len(tap.exchanges)
        if "request" in step:
            request = _message(step["request"], tap, seen.run)
            fields = {key: value for key, value in request.items() if key not in ("method", "url")}
            reply = driver.request(client, request["method"], request["url"], **fields)
            if trace is not None:
                trace(f"driver: {_short(reply)}")
            exchanges = _arrived(tap, before, reply)
            seen.samples.append(Sample(request, reply, exchanges, counted, index))
        else:
            batch = step["batch"]
            wanted = batch if isinstance(batch, list) else [batch["request"]] * batch["count"]
            wanted = [_message(request, tap, seen.run) for request in wanted]
            replies = driver.batch(client, wanted)
            exchanges = _arrived(tap, before, replies[-1])
            for request, reply in zip(wanted, replies, strict=True):
                if trace is not None:
                    trace(f"driver: {_short(reply)}")
                seen.samples.append(Sample(request, reply, exchanges, counted, index, batch=True))


def _arrived(tap: Tap, before: int, reply: dict[str, Any]) -> list[Exchange]:
    """The exchanges of a step. One that the client gave up may still be on its way into the tap."""
    if reply["outcome"] != "response":
        tap.settle(0.05)
    return list(tap.exchanges[before:])


def _message(request: dict[str, Any], tap: Tap, run: Run) -> dict[str, Any]:
    """A request of a case as the driver's protocol wants it."""
    names = tap.names
    message = {key: value for key, value in request.items() if key not in ("path", "url")}
    url = request.get("url") or "{base}" + request.get("path", "/")
    message["url"] = expand(url, names)
    has_body = (request.get("body") or {}).get("kind", "none") != "none"
    message.setdefault("method", "POST" if has_body else "GET")
    if "text" in (request.get("body") or {}):
        message["body"] = request["body"] | {"text": expand(request["body"]["text"], names)}
    if "headers" in request:
        message["headers"] = [[name, expand(value, names)] for name, value in request["headers"]]
    return message


def _short(reply: dict[str, Any]) -> str:
    return str({key: value for key, value in reply.items() if key != "headers"})
