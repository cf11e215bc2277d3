"""A patient to examine: Python's http.client, whose connector forgets TCP_NODELAY as many custom connectors do.

usage: patient.py URL [--method POST] [--size 200] [--requests 40] [--fresh] [--nodelay] [--seconds S]
It writes head and body apart (http.client always does) and prints one line. Python standard library only.
"""

from __future__ import annotations

import argparse
import http.client
import socket
import statistics
import time
from urllib.parse import urlsplit


class Connection(http.client.HTTPConnection):
    nodelay = False

    def connect(self) -> None:
        self.sock = socket.create_connection((self.host, self.port), timeout=10)
        if self.nodelay:
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--method", default="POST")
    parser.add_argument("--size", type=int, default=200, help="bytes of body; none for GET")
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--seconds", type=float, help="go on for so long instead")
    parser.add_argument("--fresh", action="store_true", help="a new connection per request")
    parser.add_argument("--nodelay", action="store_true", help="set TCP_NODELAY")
    options = parser.parse_args()
    url = urlsplit(options.url)
    assert url.hostname
    Connection.nodelay = options.nodelay
    connection = Connection(url.hostname, url.port or 80)
    body = None if options.method == "GET" else b"x" * options.size
    times_ms: list[float] = []
    ends = time.monotonic() + (options.seconds or 0)
    # The first 16 are warm-up: a new connection is acknowledged at once for a while.
    while time.monotonic() < ends if options.seconds else len(times_ms) < options.requests + 16:
        if options.fresh:
            connection.close()
        started = time.perf_counter()
        connection.request(options.method, url.path or "/", body)
        connection.getresponse().read()
        times_ms.append((time.perf_counter() - started) * 1000)
    measured = times_ms[16:] or times_ms
    what = options.method + ("" if body is None else f" of {len(body)} bytes")
    what += ", new connection each" if options.fresh else ", kept alive"
    if options.nodelay:
        what += ", TCP_NODELAY"
    slow = sum(one > 30 for one in measured)
    print(f"{what}: p50 {statistics.median(measured):.1f} ms, over 30 ms: {slow} of {len(measured)}")


if __name__ == "__main__":
    main()
