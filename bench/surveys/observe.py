"""A client watched by onewrite's timing record.

usage: observe.py URL [--requests 40] [--sick] [--gap MS] [--quickack] [--pause MS] [--json]
`--sick` leaves the disease in: two writes, and TCP_NODELAY named off. `--gap`: the body comes so long after the head, as from a
source that must be waited for: two writes, TCP_NODELAY on.
"""

from __future__ import annotations

import argparse
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import onewrite


def late(gap_s: float) -> Iterator[bytes]:
    time.sleep(gap_s)
    yield b"x" * 200


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--sick", action="store_true")
    parser.add_argument("--gap", type=float, default=0, help="ms between head and body")
    parser.add_argument("--quickack", action="store_true")
    parser.add_argument("--pause", type=float, default=0, help="ms between requests")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    records: list[Any] = []
    extra: dict[str, Any] = {"quickack": options.quickack}
    if options.sick:
        extra["coalesce_disabled"] = True
        extra["nodelay_disabled"] = True
        extra["socket_options"] = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)]
    http = onewrite.PoolManager(on_timing=records.append, **extra)
    for _ in range(16 + options.requests):
        body = late(options.gap / 1000) if options.gap else b"x" * 200
        http.request("POST", options.url, body=body, headers={"Content-Length": "200"})
        time.sleep(options.pause / 1000)
    records = records[16:]
    if options.json:
        print(json.dumps([{
            "wait_ms": one.wait_ns / 1e6, "receive_ms": (one.receive_ns or 0) / 1e6, "cause": one.cause,
            "send_hold_ms": one.kernel.send_hold_ns / 1e6 if one.kernel else None,
            "retransmits": one.kernel.retransmits if one.kernel else None} for one in records]))
        return
    last = records[-1]
    print(last)
    kernel = last.kernel
    print(f"wait_ns={last.wait_ns} cause={last.cause}")
    if kernel:
        print(f"send_hold_ns={kernel.send_hold_ns} segments_out={kernel.segments_out} retransmits={kernel.retransmits}")
    causes = [str(one.cause) for one in records]
    print(f"{len(records)} requests: " + ", ".join(f"{causes.count(cause)} {cause}" for cause in sorted(set(causes))))


if __name__ == "__main__":
    main()
