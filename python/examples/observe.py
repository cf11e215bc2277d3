"""A client watched by onewrite's timing record: whose wait is it?

usage: observe.py URL [--requests 40] [--sick]
`--sick` leaves the disease in: two writes, and TCP_NODELAY named off.
"""

from __future__ import annotations

import argparse
import socket
from typing import Any

import onewrite

WARM_UP = 16  # a new connection is acknowledged at once for a while


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--sick", action="store_true")
    options = parser.parse_args()
    records: list[Any] = []
    disease: dict[str, Any] = {
        "observe": True,
        "socket_options": [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)],
    }
    http = onewrite.PoolManager(on_timing=records.append, **(disease if options.sick else {}))
    for _ in range(WARM_UP + options.requests):
        http.request("POST", options.url, body=b"x" * 200, headers={"Content-Length": "200"})
    records = records[WARM_UP:]
    last = records[-1]
    print(last)
    print(f"wait_ns={last.wait_ns} cause={last.cause}")
    if (kernel := last.kernel) is not None:
        print(f"send_hold_ns={kernel.send_hold_ns} segments_out={kernel.segments_out}", end=" ")
        print(f"retransmits={kernel.retransmits}")
    causes = [str(one.cause) for one in records]
    told = ", ".join(f"{causes.count(cause)} {cause}" for cause in sorted(set(causes)))
    print(f"{len(records)} requests: {told}")


if __name__ == "__main__":
    main()
