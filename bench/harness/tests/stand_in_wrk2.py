"""Stands in for wrk2 where there is none: as strict about its arguments, and with its forms of output.

wrk2 reads a number as digits and at most two characters of unit, and refuses a unit that it does not know: `133.3` is
133 with the unit `.3`. A rate is required, connections may not be fewer than threads. It refuses with its usage text on
standard output, exit status 1, mostly without a reason. A run prints neither a name nor a version.

It sends nothing. What it says it saw is a steady latency: STAND_IN_US corrected, STAND_IN_SERVICE_US uncorrected.
"""

from __future__ import annotations

import getopt
import json
import os
import re
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

USAGE = (Path(__file__).with_name("fixtures") / "wrk2-usage.txt").read_text().split("\n", 1)[1]
METRIC = ("", ("k", "m", "g", "t", "p"), 1000)
TIME = ("s", ("m", "h"), 60)


def refuse(reason: str = "") -> None:
    if reason:
        print(reason, file=sys.stderr)
    print(USAGE)
    sys.exit(1)


def number(text: str, kind: tuple[str, tuple[str, ...], int]) -> int:
    base, units, factor = kind
    match = re.match(r"\s*[+-]?(\d+)\s*(\S{0,2})", text)
    if match is None:
        refuse()
        raise AssertionError
    value, unit = int(match.group(1)), match.group(2).lower()
    if not unit or unit == base:
        return value
    for position, known in enumerate(units):
        if unit == known:
            return value * int(factor ** (position + 1))
    refuse()
    raise AssertionError


def spectrum(title: str, us: int, count: int) -> str:
    return (
        f"  Latency Distribution (HdrHistogram - {title})\n"
        + "".join(f"{level:7.3f}%{us / 1000:8.2f}ms\n" for level in (50, 75, 90, 99, 99.9, 99.99, 99.999, 100))
        + "\n  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n\n"
        + "".join(
            f"{us / 1000:12.3f} {quantile:12f} {int(count * quantile):12d} {1 / (1 - quantile):12.2f}\n"
            for quantile in (0.0, 0.5, 0.9, 0.99)
        )
        + f"{us / 1000:12.3f} {1.0:12f} {count:12d} {'inf':>12}\n"
        + f"#[Mean    = {us / 1000:12.3f}, StdDeviation   = {0:12.3f}]\n"
        + f"#[Max     = {us / 1000:12.3f}, Total count    = {count:12d}]\n"
        + "#[Buckets =           27, SubBuckets     =         2048]\n"
        + "-" * 58
    )


def main() -> None:
    long = ["connections=", "duration=", "threads=", "script=", "header=", "latency", "u_latency", "batch_latency"]
    try:
        options, rest = getopt.gnu_getopt(sys.argv[1:], "t:c:d:s:H:T:R:LUBrv?", [*long, "timeout=", "version", "rate="])
    except getopt.GetoptError as error:
        refuse(f"wrk: {error}")
        return
    given = {name.lstrip("-")[0]: value for name, value in options}
    threads, connections = number(given.get("t", "2"), METRIC), number(given.get("c", "10"), METRIC)
    seconds, rate = number(given.get("d", "10"), TIME), number(given.get("R", "0"), METRIC)
    if not rest or not threads or not seconds:
        refuse()
    if connections < threads:
        refuse("number of connections must be >= threads")
    if not rate:
        refuse("Throughput MUST be specified with the --rate or -R option")
    url = urlsplit(rest[0])
    try:
        socket.create_connection((url.hostname or "", url.port or 80), timeout=5).close()
    except OSError as error:
        print(f"unable to connect to {url.hostname}:{url.port} {error.strerror}", file=sys.stderr)
        sys.exit(1)
    with Path(os.environ.get("STAND_IN_LOG", os.devnull)).open("a") as log:
        log.write(json.dumps(sys.argv[1:]) + "\n")
    us = int(os.environ.get("STAND_IN_US", "1100"))
    requests, counted = rate * seconds, max(0, rate * (seconds - 10))
    print(f"Running {seconds}s test @ {rest[0]}\n  {threads} threads and {connections} connections")
    if seconds > 10:
        print("  Thread calibration: mean lat.: 1.068ms, rate sampling interval: 10ms\n" * threads, end="")
    print("  Thread Stats   Avg      Stdev     Max   +/- Stdev")
    print(f"    Latency  {us / 1000:7.2f}ms    0.00us {us / 1000:7.2f}ms  100.00%")
    print("    Req/Sec       -nan      -nan   0.00      0.00%")
    if "L" in given or "l" in given or "U" in given or "u" in given:
        print(spectrum("Recorded Latency", us, counted))
    if "U" in given or "u" in given:
        title = "Uncorrected Latency (measured without taking delayed starts into account)"
        print("\n" + spectrum(title, int(os.environ.get("STAND_IN_SERVICE_US", "200")), counted))
    print(f"  {requests} requests in {seconds}.00s, 1.00MB read\nRequests/sec: {rate:9.2f}\nTransfer/sec:    100.00KB")
    if "s" in given and "onewrite-result" in Path(given["s"]).read_text():
        levels = ", ".join(f"[{level}, {us}]" for level in (50, 75, 90, 95, 99, 99.9, 99.99, 100))
        print(
            f'onewrite-result {{"requests": {requests}, "duration_us": {seconds * 1_000_000}, "connect": 0, "read": 0, '
            f'"write": 0, "timeout": 0, "status": 0, "mean_us": {us}.0, "max_us": {us}, "percentiles": [{levels}]}}'
        )


if __name__ == "__main__":
    main()
