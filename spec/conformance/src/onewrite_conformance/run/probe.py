"""`--probe`: tries a driver step by step, and says what it would be judged on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from onewrite_lab import witness
from onewrite_lab.certificates import shared
from onewrite_lab.tap.answers import Script
from onewrite_lab.tap.server import Tap

from onewrite_conformance.contract.cases import Case
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped, OpenRefused, unknown_capabilities
from onewrite_conformance.run.adapters import Adapter
from onewrite_conformance.run.judge import Judge

__all__ = ["probe"]

LIMIT_MS = 300


def probe(adapter: Adapter, cases: list[Case], say: Callable[[str], None]) -> bool:
    """Try each client kind of a driver. True if one answers, and each that does passes every step."""
    met, good = 0, True
    for client in ("stock", *adapter.own):
        kind, env = adapter.driver_of(client)
        try:
            with Driver(adapter.command, kind, env=env, timeout_s=20.0) as driver:
                met += 1
                base = driver.hello["base"]
                say(f"\n{client}: {base['name']} {base['version']}, {driver.hello['runtime']}, process {driver.pid}")
                if unknown := unknown_capabilities(driver.hello):
                    say(f"  unknown capabilities, which count for nothing: {', '.join(unknown)}")
                for step, why in _steps(driver):
                    good = good and not why
                    say(f"  {step:<62} {why or 'ok'}")
            _judged_on(adapter, client, cases, say)
        except DriverSkipped as skipped:
            say(f"\n{client}: skipped: {skipped}")
        except DriverFault as fault:
            good = False
            say(f"\n{client}: {fault}")
    return good and met > 0


def _steps(driver: Driver) -> Iterator[tuple[str, str]]:
    """(what was tried, what is wrong with it)."""
    body = {"kind": "bytes", "size": 200}
    with Tap() as tap:
        client = driver.open()
        reply = driver.request(client, "GET", f"{tap.base}/a?b=c")
        yield "open, and a GET over http", _not_answered(reply)
        reply = driver.request(client, "POST", f"{tap.base}/a", body=body, headers=[["X-One", "1"]])
        arrived = tap.exchanges[-1].request
        wrong = "" if bytes(arrived.body) == b"x" * 200 else f"{len(arrived.body)} bytes of the body arrived"
        yield "a POST with a body of 200 bytes", _not_answered(reply) or wrong
        yield "its header field", "" if arrived.values("X-One") == ["1"] else f"arrived as {arrived.values('X-One')}"
        connections = len({one.arrival.index for one in tap.exchanges})
        yield "on the same connection", "" if connections == 1 else "on another one: is a client made per request?"
        seen = witness.AVAILABLE and witness.connections(driver.pid, tap.port)
        wrong = "" if seen or not witness.AVAILABLE else f"process {driver.pid} has none: is `pid` the process?"
        yield "its sockets, read from outside", wrong
        driver.close(client)
        deadline = time.monotonic() + 4.0
        while time.monotonic() < deadline and not all(one.ended for one in tap.arrivals):
            time.sleep(0.01)
        left = sum(not one.ended for one in tap.arrivals)
        yield "close ends the connections", f"{left} are open after 4 s" if left else ""
    with Tap(scheme="https") as tap:
        client = driver.open(tls_ca=shared().ca_file)
        yield "a POST over https", _not_answered(driver.request(client, "POST", f"{tap.base}/", body=body))
        driver.close(client)
    with Tap(Script.of({"target": "refused"})) as tap:
        client = driver.open()
        yield "a refused connection is an error of kind connect", _not_failed(driver, client, tap, "connect")
        driver.close(client)
    with Tap(Script.of({"answers": [{"then": "hang", "truncate": 0}]})) as tap:
        client = driver.open()
        said = _not_failed(driver, client, tap, "timeout", timeout_ms=LIMIT_MS)
        yield f"timeout_ms {LIMIT_MS} is an error of kind timeout", said
        driver.close(client)
    if "timing" in driver.capabilities:
        with Tap() as tap:
            client = driver.open(hooks="timing")
            reply = driver.request(client, "POST", f"{tap.base}/", body=body)
            records = reply.get("records") or []
            yield "one record", "" if len(records) == 1 else f"{len(records)} arrived"
            yield "its events", "" if records and records[0].get("events") else "none"
            driver.close(client)
    try:
        driver.close(driver.open(retries=1, socket_options=[]))
    except (DriverSkipped, OpenRefused):
        pass
    yield "options that it lacks are skipped, and it works on", ""


def _not_answered(reply: dict[str, Any]) -> str:
    if reply["outcome"] != "response":
        return f"outcome {reply['outcome']}: {reply.get('error')}"
    if (reply.get("status"), reply.get("body_bytes")) != (200, 2):
        return f"status {reply.get('status')} and {reply.get('body_bytes')} bytes, not 200 and 2"
    return "" if reply.get("body_sha256") else "no body_sha256"


def _not_failed(driver: Driver, client: int, tap: Tap, kind: str, **fields: Any) -> str:
    started = time.monotonic()
    reply = driver.request(client, "GET", f"{tap.base}/", **fields)
    took = time.monotonic() - started
    said = (reply.get("error") or {}).get("kind")
    late = f", after {took:.1f} s" if took > 2.0 else ""
    return "" if (reply["outcome"], said) == ("error", kind) and not late else f"{reply['outcome']}, kind {said}{late}"


def _judged_on(adapter: Adapter, client: str, cases: list[Case], say: Callable[[str], None]) -> None:
    """How many cases of each family apply, and which capability would add how many."""
    with Judge(adapter, cases, {}, clients=[client], stock=client == "stock") as judge:
        runs = {run.case.id: run for run in judge.by_path.values()}.values()
        apply: Counter[str] = Counter()
        lacking: Counter[str] = Counter()
        for run in runs:
            if client == "stock" and not judge.asks_stock(run.case):
                continue
            missing = [need for need in run.capabilities() if need not in judge.capabilities(client)]
            apply[run.case.of.split("-")[0]] += not missing
            lacking.update(missing[:1] if len(missing) == 1 else ())
    whole = Counter(run.case.of.split("-")[0] for run in runs)
    say("  judged on " + ", ".join(f"{name} {apply[name]} of {whole[name]}" for name in whole) + " cases")
    if lacking:
        say("  each of these alone would add: " + ", ".join(f"{name} {count}" for name, count in lacking.most_common()))
