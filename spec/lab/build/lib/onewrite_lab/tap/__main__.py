"""`python -m onewrite_lab.tap`: the tap alone, to hold any client against it."""

from __future__ import annotations

import argparse
import os
import time

from onewrite_lab.certificates import shared
from onewrite_lab.tap.answers import Script
from onewrite_lab.tap.exchange import Exchange
from onewrite_lab.tap.server import Tap

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Serve until interrupted and print one line per request."""
    parser = argparse.ArgumentParser(
        prog="python -m onewrite_lab.tap",
        description="An HTTP/1.1 server that says how each request arrived: segments, TLS records, reads, bytes.",
    )
    parser.add_argument("--port", type=int, default=8080, help="0 takes any free port (default 8080)")
    parser.add_argument("--tls", action="store_true", help="serve https; the CA file to trust is printed")
    parser.add_argument("--mss", type=int, help="segment size to offer (1448 is an Ethernet's; loopback has 32 KiB)")
    parser.add_argument("--delay-ms", type=int, default=0, help="answer after this time")
    parser.add_argument("--trace", action="store_true", help="print every read and write")
    options = parser.parse_args(arguments)

    def told(exchange: Exchange) -> None:
        request = exchange.request
        records = "" if exchange.records is None else f"  {exchange.records} records"
        faults = f"  NOT HTTP/1.1: {'; '.join(request.problems)}" if request.problems else ""
        print(
            f"#{exchange.number:<5} connection {exchange.arrival.index:<4} {request.method} {request.path[:40]:<20} "
            f"{len(request.head)}+{len(request.body)} bytes  {exchange.segments} segments{records}  "
            f"{len(exchange.reads)} reads{faults}",
            flush=True,
        )

    script = Script.of({"answers": [{"delay_ms": options.delay_ms}]} | ({"mss": options.mss} if options.mss else {}))
    trace = (lambda line: print(line, flush=True)) if options.trace else None
    scheme = "https" if options.tls else "http"
    with Tap(script, scheme=scheme, on_request=told, trace=trace, port=options.port) as tap:
        trust = f", trust {shared().ca_file}" if options.tls else ""
        print(f"listening on {tap.base}{trust} (pid {os.getpid()}); Ctrl-C ends it", flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    raise SystemExit(main())
