"""Runs and reads oha. Its CSV has a row for each answered request: when it was sent, its latency, its status.

The row's latency is corrected, from when the request was due; its response delay is from when it was sent. So one row
says how late it was sent. Requests that failed without an answer have no row: they are missed in the rate.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from functools import cached_property

from onewrite_bench.failures import BenchError
from onewrite_bench.generators.measurement import Distribution, Measurement, own_lateness_us
from onewrite_bench.generators.plan import GRACE_S, Plan, call, find

__all__ = ["Oha", "parse"]

_COLUMNS = {"request-start", "Response-delay", "request-duration", "status"}


class Oha:
    """oha, found as OHA= or on PATH; honest only with --latency-correction."""

    name = "oha"

    def __init__(self, program: str) -> None:
        self._program = program

    @staticmethod
    def find() -> Oha | None:
        program = find((os.environ.get("OHA"), "oha"), lambda usage: "--latency-correction" in usage)
        return Oha(program) if program else None

    @cached_property
    def version(self) -> str:
        """From `oha --version`: its results do not hold it."""
        words = call([self._program, "--version"], 10).stdout.split()
        return words[-1] if words else "unreported"

    def run(self, plan: Plan) -> Measurement:
        seconds = plan.seconds + plan.warmup
        command = [self._program, "--no-tui", "--output-format", "csv", "--latency-correction"]
        command += ["--wait-ongoing-requests-after-deadline", "-q", str(plan.rate), "-c", str(plan.connections)]
        command += ["-z", f"{seconds}s", "-m", plan.method, "-d", "x" * plan.body_bytes, plan.url]
        done = call(command, seconds + GRACE_S)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
            raise BenchError(f"oha failed: {last[:200]}")
        return parse(done.stdout, plan, self.version)


def parse(text: str, plan: Plan, version: str = "unreported") -> Measurement:
    """The measurement in oha's output. Raises BenchError when it is not oha's CSV."""
    lines = text.strip().splitlines()
    reader = csv.DictReader(lines)
    if not set(reader.fieldnames or ()) >= _COLUMNS:
        raise BenchError(f"oha gave no CSV result but: {lines[0][:200] if lines else 'nothing'}")
    latency: list[int] = []
    service: list[int] = []
    bad: Counter[str] = Counter()
    answered = 0
    try:
        for row in reader:
            if float(row["request-start"]) < plan.warmup:
                continue
            answered += 1
            if int(row["status"]) >= 400:
                bad[f"status {row['status']}"] += 1
                continue
            latency.append(round(float(row["request-duration"]) * 1e6))
            service.append(round(float(row["Response-delay"]) * 1e6))
    except (ValueError, TypeError) as error:
        raise BenchError(f"oha's CSV cannot be read: {error}") from error
    measurement = Measurement(
        generator="oha",
        generator_version=version,
        offered_rate=plan.rate,
        achieved_rate=round(answered / plan.seconds, 3),
        connections=plan.connections,
        warmup_seconds=plan.warmup,
        seconds=plan.seconds,
        requests=len(latency),
        errors=bad.total(),
        error_sample=", ".join(f"{name}: {count}" for name, count in bad.items()) or None,
        slip_p90_us=None,
        latency=Distribution.of(latency),
        service=Distribution.of(service),
    )
    measurement.slip_p90_us = own_lateness_us(measurement)
    return measurement
