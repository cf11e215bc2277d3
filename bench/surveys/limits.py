"""What a client cannot fix: makes each fault, watches it with onewrite's hooks, writes docs/what-it-cannot-fix.md.

usage: limits.py [--no-page]      exit: 0 measured, 3 a program or the Python adapter is missing
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

from onewrite_bench.ends import tied
from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped
from onewrite_lab.client import GOOD, Connection, How

from faulty import serve
from shared import ROOT, WARM_UP, Missing, Servers, fill, machine, run, table

PAGE = ROOT / "docs" / "what-it-cannot-fix.md"


def watch(
    url: str, requests: int = 24, *, sick: bool = False, quickack: bool = False, gap_ms: float = 0, pause_ms: float = 0
) -> list[dict[str, Any]]:
    """The timing records of so many POSTs by the Python adapter, whose driver makes them.

    `sick` makes it stall: two writes, and TCP_NODELAY off. `gap_ms` passes between two pieces of the body.
    """
    adapter: dict[str, Any] = {"quickack": quickack}
    options: dict[str, Any] = {"pool_size": 1, "hooks": "timing", "adapter": adapter}
    if sick:
        adapter |= {"coalesce_disabled": True, "nodelay_disabled": True}
        options["socket_options"] = [{"name": "TCP_NODELAY", "value": 0}]
    body: dict[str, Any] = {"kind": "bytes", "size": 200}
    if gap_ms:
        body = {"kind": "stream", "chunks": [100, 100], "length": True, "gap_ms": gap_ms}
    try:
        driver = Driver([*tied(), str(ROOT / "python" / "driver" / "run")], "onewrite", {})
    except (DriverFault, DriverSkipped) as error:
        raise Missing(f"the Python driver cannot run (make -C python setup): {str(error).splitlines()[0]}") from error
    records = []
    try:
        client = driver.open(**options)
        for _ in range(WARM_UP + requests):
            reply = driver.request(client, "POST", url, body=body)
            if reply["outcome"] != "response":
                raise Missing(f"a request failed: {reply.get('error')}")
            records.append(_record(reply["timing"]))
            time.sleep(pause_ms / 1000)
    finally:
        driver.bye()
    return records[WARM_UP:]


def _record(timing: dict[str, Any]) -> dict[str, Any]:
    kernel = timing.get("kernel") or {}
    times = {"wait_ms": timing.get("wait_ns"), "receive_ms": timing.get("receive_ns"), "send_hold_ms": kernel.get("send_hold_ns")}
    return {"cause": timing.get("cause"), **{name: None if ns is None else ns / 1e6 for name, ns in times.items()}}


def cells(label: str, records: list[dict[str, Any]]) -> list[str]:
    def p50(name: str) -> str:
        values = [one[name] for one in records if one[name] is not None]
        return f"{statistics.median(values):.1f} ms" if values else "absent"

    causes = [one["cause"] or "none" for one in records]
    told = ", ".join(f"`{cause}` {causes.count(cause)}" for cause in sorted(set(causes), key=causes.count, reverse=True))
    row = [label, p50("wait_ms"), p50("send_hold_ms"), p50("receive_ms"), told]
    print("  " + " | ".join(row), file=sys.stderr)
    return row


def faults(servers: Servers) -> list[list[str]]:
    """Each fault as the hooks show it. The client is onewrite's, with both measures on unless the row says otherwise."""
    def at(port: int, path: str = "") -> str:
        return f"http://127.0.0.1:{port}/{path}"

    origin, faulty = servers.origin(), serve()
    ports = servers.haproxy(faulty)
    relay = servers.relay(origin)
    lost = [one for one in watch(at(faulty, "lossy"), 80, pause_ms=30) if one["wait_ms"] > 20]
    return [
        cells("for comparison: a healthy origin", watch(at(origin))),
        cells("for comparison: the stall itself, both measures off", watch(at(origin), sick=True)),
        cells("the service takes 45 ms", watch(at(faulty, "slow"))),
        cells("the server writes its answer in two, Nagle on", watch(at(faulty, "split"))),
        cells("the same, `quickack` on", watch(at(faulty, "split"), quickack=True)),
        cells("such a server behind HAProxy", watch(at(ports["buffer"], "split"))),
        cells("a relay with Nagle on, two writes 1 ms apart, TCP_NODELAY", watch(at(relay), gap_ms=1)),
        cells("a relay with Nagle on, one write", watch(at(relay))),
        cells("a request's only segment is lost (these requests only)", lost),
        cells("HAProxy corks a stream of events (`MSG_MORE`)", watch(at(ports["default"], "events"), requests=4)),
    ]


def losses() -> list[list[str]]:
    """A lost segment, by how the request was written: raw sockets, one of four requests loses its first segment."""
    rows = []
    for label, how in (("one write", GOOD), ("two writes, TCP_NODELAY", How(nagle=False, split=True))):
        lost, others = lost_and_others(Connection(f"http://127.0.0.1:{serve()}/lossy", how), 80)
        slow = sum(one > 100 for one in lost)
        rows.append([label, f"{statistics.median(lost):.1f} ms", f"{slow} of {len(lost)}", f"{statistics.median(others):.1f} ms"])
        print("  loss: " + " | ".join(rows[-1]), file=sys.stderr)
    return rows


def lost_and_others(client: Connection, requests: int) -> tuple[list[float], list[float]]:
    """What the POSTs took, in ms: those whose first segment was lost, and the others."""
    times: list[float] = []
    for _ in range(requests):
        started = time.perf_counter()
        client.post("POST", b"x" * 200)
        times.append((time.perf_counter() - started) * 1000)
        time.sleep(0.03)
    return times[3::4], [one for index, one in enumerate(times) if index % 4 != 3]


def main() -> int:
    parser = argparse.ArgumentParser(description="What a client cannot fix.")
    parser.add_argument("--no-page", action="store_true")
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        raise Missing("kernel evidence and the dropping filter exist on Linux only")
    with Servers() as servers:
        seen = faults(servers)
    loss = losses()
    if not options.no_page:
        fill(PAGE, {
            "hooks": table(["", "wait", "of it held by the kernel", "receive", "causes, and the requests that have each"], seen)
            + f"\nMeasured {time.strftime('%Y-%m-%d')}: {machine()}; medians of kept-alive POSTs of 200 bytes.",
            "loss": table(["request", "its first segment lost: p50", "over 100 ms", "nothing lost: p50"], loss),
        })
    return 0


if __name__ == "__main__":
    run(main)
