"""Runs and reads wrk2. Numbers come from one JSON line that our Lua script prints.

wrk2's own text rounds, changes units and prints `-nan`. Its exit status is 0 when every request failed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import cached_property
from pathlib import Path

from onewrite_bench.ends import scratch
from onewrite_bench.failures import BenchError
from onewrite_bench.generators.built_in import BuiltIn
from onewrite_bench.generators.measurement import GRACE_S, Generator, Measurement, Plan, call, find

__all__ = ["MARK", "Wrk2", "choose", "is_wrk2", "lua_script", "parse"]

CALIBRATION_S = 10
"""wrk2 drops its first 10 s from the histogram."""

MARK = "onewrite-result "


def choose(wanted: str | None) -> Generator:
    """The named generator; without a name wrk2 where it is there, else the built-in one. Both count a request's latency
    from the moment it was due. Raises BenchError when the named one is unknown or not there.
    """
    if wanted not in (None, "", "wrk2", "built-in"):
        raise BenchError(f"there is no generator {wanted!r}; there are wrk2 and built-in")
    wrk2 = None if wanted == "built-in" else Wrk2.find()
    if wanted == "wrk2" and wrk2 is None:
        raise BenchError("wrk2 is not on PATH; set WRK2=/path/to/it or use GENERATOR=built-in")
    return wrk2 or BuiltIn()


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
        digest = hashlib.sha256(Path(self._program).read_bytes()).hexdigest()
        return f"{Path(self._program).name}, sha256 {digest[:12]}"

    def run(self, plan: Plan) -> Measurement:
        seconds = max(CALIBRATION_S, plan.warmup) + plan.seconds
        with scratch("onewrite-wrk2-") as directory:
            script = directory / "post.lua"
            script.write_text(lua_script(plan.method, plan.body_bytes))
            threads = 1 if plan.connections % 2 else 2  # connections that do not divide are rounded down
            command = [self._program, "-t", str(threads), "-c", str(plan.connections), "-d", f"{seconds}s"]
            command += ["-R", str(plan.rate), "-s", str(script), plan.url]
            done = call(command, seconds + GRACE_S)
        # Usage goes to standard output after the reason on standard error: the reason is what helps.
        reason = next((line.strip() for line in done.stderr.splitlines() if line.strip()), None)
        if done.returncode != 0:
            raise BenchError(f"wrk2 failed: {reason or f'exit status {done.returncode}'}: {' '.join(command[1:])}")
        return parse(done.stdout, plan.rate, plan.connections, self.version)


def is_wrk2(usage: str) -> bool:
    """Whether a usage text is wrk2's: plain wrk has no constant rate, zrk has no Lua script."""
    options = (r"-R,\s+--rate", r"-s,\s+--script")
    return all(re.search(rf"^\s*{option}\b", usage, re.MULTILINE) for option in options)


def lua_script(method: str, body_bytes: int) -> str:
    """A script that sends our requests and prints the result as one JSON line, with integers in microseconds."""
    return f"""wrk.method = "{method}"
wrk.body = string.rep("x", {body_bytes})
wrk.headers["Content-Type"] = "application/octet-stream"

function done(summary, latency, requests)
  local e = summary.errors
  local function us(level)
    local value = latency:percentile(level)
    return value == value and value or 0
  end
  print(string.format(
    '{MARK}{{"requests": %d, "duration_us": %d, "connect": %d, "read": %d, "write": %d, "timeout": %d, ' ..
    '"status": %d, "p50_us": %.0f, "p90_us": %.0f, "p99_us": %.0f}}',
    summary.requests, summary.duration, e.connect, e.read, e.write, e.timeout, e.status, us(50), us(90), us(99)))
end
"""


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
    seconds = raw["duration_us"] / 1e6
    return Measurement(
        generator="wrk2",
        generator_version=version,
        offered_rate=offered_rate,
        achieved_rate=round(raw["requests"] / seconds, 3) if seconds else 0.0,
        connections=connections,
        warmup_seconds=CALIBRATION_S,
        seconds=round(max(0.0, seconds - CALIBRATION_S), 3),
        # Without samples after the calibration every percentile reads 0: completed perhaps, but measured none.
        requests=raw["requests"] if raw["p99_us"] else 0,
        errors=sum(errors.values()),
        error_sample=", ".join(f"{name} {count}" for name, count in errors.items()) or None,
        slip_p90_us=None,
        p50_us=raw["p50_us"],
        p90_us=raw["p90_us"],
        p99_us=raw["p99_us"],
    )
