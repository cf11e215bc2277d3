"""Runs and reads wrk2. Numbers come from one JSON line that our Lua script prints; its text gives the two spectra.

Its text rounds, changes units and prints `-nan`; its exit status is 0 when every request failed. So neither is trusted.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from functools import cached_property
from pathlib import Path

from onewrite_bench.ends import scratch
from onewrite_bench.failures import BenchError
from onewrite_bench.generators.measurement import Distribution, Measurement, own_lateness_us
from onewrite_bench.generators.plan import GRACE_S, Plan, call, find

__all__ = ["CALIBRATION_S", "MARK", "Wrk2", "is_wrk2", "lua_script", "parse", "spectra"]

CALIBRATION_S = 10
"""wrk2 drops its first 10 s from the histogram."""

MARK = "onewrite-result "

_SPECTRUM_ROW = re.compile(r"^\s*(\d+\.\d+)\s+([01]\.\d+)\s+(\d+)(?:\s+(\d+\.\d+|inf))?\s*$")


class Wrk2:
    """giltene/wrk2 or a fork of it, found as WRK2= or on PATH. It is neither shipped nor built here."""

    name = "wrk2"

    def __init__(self, program: str) -> None:
        self._program = program

    @staticmethod
    def find() -> Wrk2 | None:
        """Detected by its options in its usage text: wrk2 calls itself wrk, and its version says nothing."""
        program = find((os.environ.get("WRK2"), "wrk2", "wrk"), is_wrk2)
        return Wrk2(program) if program else None

    @cached_property
    def version(self) -> str:
        """Its file's name and checksum: a run prints no version, and `-v` prints that of the wrk it was made from."""
        try:
            digest = hashlib.sha256(Path(self._program).read_bytes()).hexdigest()
        except OSError:
            return "unreported"
        return f"{Path(self._program).name}, sha256 {digest[:12]}"

    def run(self, plan: Plan) -> Measurement:
        warmup = max(CALIBRATION_S, plan.warmup)
        seconds = warmup + plan.seconds
        with scratch("onewrite-wrk2-") as directory:
            script = directory / "post.lua"
            script.write_text(lua_script(plan.method, plan.body_bytes))
            threads = 1 if plan.connections % 2 else 2  # connections that do not divide are rounded down
            command = [self._program, "-t", str(threads), "-c", str(plan.connections), "-d", f"{seconds}s"]
            command += ["-R", str(plan.rate), "-U", "-s", str(script), plan.url]
            done = call(command, seconds + GRACE_S)
        # Usage goes to standard output after the reason on standard error: the reason is what helps.
        reason = next((line.strip() for line in done.stderr.splitlines() if line.strip()), None)
        if done.returncode != 0:
            shown = "it refused its arguments" if done.stdout.startswith("Usage:") else f"exit status {done.returncode}"
            raise BenchError(f"wrk2 failed: {reason or shown}: {' '.join(command[1:])}")
        return parse(done.stdout, plan.rate, plan.connections, self.version)


def is_wrk2(usage: str) -> bool:
    """Whether a usage text is wrk2's: plain wrk has no constant rate, zrk no Lua script and no uncorrected latency."""
    options = (r"-R,\s+--rate", r"-U,?\s+--u_latency", r"-s,\s+--script")
    return all(re.search(rf"^\s*{option}\b", usage, re.MULTILINE) for option in options)


def lua_script(method: str, body_bytes: int) -> str:
    """A script that sends our requests and prints the result as one JSON line, with integers in microseconds."""
    return f"""wrk.method = "{method}"
wrk.body = string.rep("x", {body_bytes})
wrk.headers["Content-Type"] = "application/octet-stream"

function done(summary, latency, requests)
  local e = summary.errors
  local levels = {{50, 75, 90, 95, 99, 99.9, 99.99, 100}}
  local shown = {{}}
  for _, level in ipairs(levels) do
    local value = level == 100 and latency.max or latency:percentile(level)
    shown[#shown + 1] = string.format("[%s, %.0f]", level, value == value and value or 0)
  end
  local mean = latency.mean == latency.mean and latency.mean or 0
  print(string.format(
    '{MARK}{{"requests": %d, "duration_us": %d, "connect": %d, "read": %d, "write": %d, "timeout": %d, ' ..
    '"status": %d, "mean_us": %.1f, "max_us": %.0f, "percentiles": [%s]}}',
    summary.requests, summary.duration, e.connect, e.read, e.write, e.timeout, e.status,
    mean, latency.max, table.concat(shown, ", ")))
end
"""


def spectra(text: str) -> list[list[list[float]]]:
    """The detailed percentile spectra in order: the corrected one, then with -U the uncorrected one."""
    found: list[list[list[float]]] = []
    current: list[list[float]] | None = None
    for line in text.splitlines():
        if "Detailed Percentile spectrum" in line:
            current = []
            found.append(current)
        elif current is not None and (row := _SPECTRUM_ROW.match(line)):
            current.append([float(row.group(1)) * 1000, float(row.group(2)), int(row.group(3))])
        elif line.lstrip().startswith("#["):
            current = None
    return found


def parse(text: str, offered_rate: float, connections: int, version: str = "unreported") -> Measurement:
    """The measurement in wrk2's output. Raises BenchError when our script's line is not there."""
    if "We are about to crash and die" in text:
        raise BenchError("wrk2 saw a negative latency and gave up: the wall clock was set back while it ran")
    line = next((line for line in text.splitlines() if line.startswith(MARK)), None)
    if line is None:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "nothing")
        raise BenchError(f"wrk2 ended without its result; its last line was: {last.strip()[:200]}")
    raw = json.loads(line[len(MARK) :])
    errors = {name: raw[name] for name in ("connect", "read", "write", "timeout", "status") if raw[name]}
    blocks = spectra(text)
    # The histogram forgets the first 10 s: without samples after them every percentile reads 0.
    spectrum = blocks[0] if blocks and blocks[0] else [[us, level / 100, 0] for level, us in raw["percentiles"]]
    seconds = raw["duration_us"] / 1e6
    empty = all(us == 0 for _, us in raw["percentiles"])
    measurement = Measurement(
        generator="wrk2",
        generator_version=version,
        offered_rate=offered_rate,
        achieved_rate=round(raw["requests"] / seconds, 3) if seconds else 0.0,
        connections=connections,
        warmup_seconds=CALIBRATION_S,
        seconds=round(max(0.0, seconds - CALIBRATION_S), 3),
        requests=raw["requests"],
        errors=sum(errors.values()),
        error_sample=", ".join(f"{name} {count}" for name, count in errors.items()) or None,
        slip_p90_us=None,
        latency=Distribution(_finite(raw["mean_us"]), _finite(raw["max_us"]), [] if empty else spectrum),
    )
    if len(blocks) > 1:
        measurement.service = Distribution(None, None, blocks[1])
        measurement.slip_p90_us = own_lateness_us(measurement)
    if empty:
        measurement.requests = 0  # completed perhaps, but measured none
    return measurement


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) and value >= 0 else None
