"""Reads oha's JSON. Its exit status is 0 when every request was refused, and its numbers are null then."""

from __future__ import annotations

import json
import re
from typing import Any

from onewrite_bench.failures import BenchError
from onewrite_bench.generators.measurement import Distribution, Measurement

__all__ = ["parse"]

# Requests still under way when time is up are no failure of the server.
_NOT_ERRORS = {"aborted due to deadline"}


def parse(text: str, offered_rate: float, connections: int, version: str = "unknown") -> Measurement:
    """The measurement in oha's output. Raises BenchError when it is not oha's JSON."""
    try:
        raw: dict[str, Any] = json.loads(text)
        summary, levels = raw["summary"], raw["latencyPercentiles"]
    except (ValueError, KeyError, TypeError) as error:
        first = text.strip().splitlines()[0][:200] if text.strip() else "nothing"
        raise BenchError(f"oha gave no JSON result but: {first}") from error
    statuses: dict[str, int] = raw.get("statusCodeDistribution") or {}
    refused = {name: n for name, n in (raw.get("errorDistribution") or {}).items() if name not in _NOT_ERRORS}
    bad = {f"status {status}": count for status, count in statuses.items() if int(status) >= 400}
    errors = {**bad, **refused}
    requests = sum(statuses.values())
    seconds = float(summary.get("total") or 0)
    spectrum = []
    for name, value in levels.items():
        match = re.fullmatch(r"p(\d+(?:\.\d+)?)", name)
        if match and value is not None:
            quantile = float(match.group(1)) / 100
            spectrum.append([value * 1e6, quantile, round(quantile * requests)])
    slowest, average = summary.get("slowest"), summary.get("average")
    if spectrum and slowest is not None:
        spectrum.append([slowest * 1e6, 1.0, requests])
    return Measurement(
        generator="oha",
        generator_version=version,
        offered_rate=offered_rate,
        achieved_rate=round(requests / seconds, 3) if seconds else 0.0,
        connections=connections,
        seconds=round(seconds, 3),
        requests=requests - sum(bad.values()),
        errors=sum(errors.values()),
        error_sample=", ".join(f"{name}: {count}" for name, count in errors.items()) or None,
        slip_p90_us=None,
        latency=Distribution(
            None if average is None else average * 1e6, None if slowest is None else slowest * 1e6, sorted(spectrum)
        ),
    )
