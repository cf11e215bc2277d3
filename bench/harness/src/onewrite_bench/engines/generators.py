"""Generators of a constant rate: wrk2 where it is installed, and the built-in one. Both count a request's latency from
the time it was due. wrk2 is neither shipped nor built here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from tempfile import NamedTemporaryFile
from typing import Any

from onewrite_bench.ends import tied
from onewrite_bench.engines import open_loop
from onewrite_bench.failures import BenchError

__all__ = ["BuiltIn", "Generator", "Plan", "Wrk2", "choose"]

GRACE_S = 60
CALIBRATION_S = 10
"""wrk2 drops its first 10 s."""

TIMEOUT_S = 60
"""Above any queue of a client that cannot keep up: by default wrk2 counts a wait of 2 s as an error."""

PERCENTILES = {"p50_us": 50.0, "p90_us": 90.0, "p99_us": 99.0, "p999_us": 99.9, "max_us": 100.0}

SCRIPT = """wrk.method = "POST"
wrk.body = string.rep("x", 200)
wrk.headers["Content-Type"] = "application/octet-stream"
"""


@dataclass(frozen=True)
class Plan:
    """POSTs of 200 bytes for `warmup` and `seconds`; those that are due in `warmup` do not count."""

    url: str
    rate: int
    connections: int
    seconds: int
    warmup: int = 1


class BuiltIn:
    """Waits for every answer that is due."""

    name = "built-in"

    def run(self, plan: Plan) -> dict[str, Any]:
        """Generate the load; return a turn of RateResult. Raises BenchError when a request failed."""
        command = [sys.executable, "-m", open_loop.__name__, json.dumps(asdict(plan))]
        # An overloaded client answers long after the end.
        seen = json.loads(_run(self.name, command, 10 * (plan.warmup + plan.seconds) + GRACE_S))
        if seen["problems"]:
            raise BenchError(f"{len(seen['problems'])} requests failed ({seen['problems'][0]})")
        latencies = sorted(seen["latencies_us"])
        if not latencies:
            raise BenchError("no request was answered")
        return {
            "requests": len(latencies),
            "reached": round(len(latencies) / seen["seconds"], 1),
            **{
                name: latencies[min(len(latencies) - 1, int(len(latencies) * level / 100))]
                for name, level in PERCENTILES.items()
            },
            "late_sends": seen["late_sends"],
        }


class Wrk2:
    """giltene/wrk2 or a fork of it."""

    name = "wrk2"

    def __init__(self, program: str) -> None:
        self._program = program

    def run(self, plan: Plan) -> dict[str, Any]:
        """Generate the load; return a turn of RateResult. Raises BenchError when a request failed."""
        seconds = CALIBRATION_S + plan.seconds
        with NamedTemporaryFile("w", prefix="onewrite-wrk2-", suffix=".lua") as script:
            script.write(SCRIPT)
            script.flush()
            command = [self._program, "--latency", "-t", "1", "-c", f"{plan.connections}", "-d", f"{seconds}s"]
            command += ["-R", f"{plan.rate}", "--timeout", f"{TIMEOUT_S}s", "-s", script.name, plan.url]
            text = _run(self.name, command, seconds + GRACE_S)
        return self.turn(text, plan.seconds)

    @staticmethod
    def turn(text: str, seconds: int) -> dict[str, Any]:
        """The turn in wrk2's output: its histogram, which begins after the calibration and so covers `seconds`.

        Raises BenchError where there is none, or a request failed: the exit status is 0 even when all of them did.
        """
        failed = sum(int(one) for one in re.findall(r"(?:connect|read|write|timeout) (\d+)", text))
        failed += sum(int(one) for one in re.findall(r"Non-2xx or 3xx responses: (\d+)", text))
        if failed:
            raise BenchError(f"wrk2: {failed} requests failed")
        counted = re.search(r"Total count\s*=\s*(\d+)", text)
        levels = dict(re.findall(r"^\s*([\d.]+)%\s+([\d.]+(?:us|ms|s|m))\s*$", text, re.MULTILINE))
        if counted is None or not int(counted[1]) or not levels:
            raise BenchError(f"wrk2 has no histogram; the end of its output: {text.strip()[-200:]!r}")
        found = {name: _microseconds(levels[f"{level:.3f}"]) for name, level in PERCENTILES.items()}
        requests = int(counted[1])
        return {"requests": requests, "reached": round(requests / seconds, 1), **found, "late_sends": None}


def _microseconds(text: str) -> int:
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()  # type: ignore[union-attr]
    return round(float(number) * {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}[unit])


Generator = BuiltIn | Wrk2


def choose() -> tuple[Generator, ...]:
    """wrk2 where WRK2= or PATH has it, and the built-in generator, which is compared with it.

    Raises BenchError when WRK2= names another program.
    """
    named = os.environ.get("WRK2")
    for name in (named,) if named else ("wrk2", "wrk"):
        program = shutil.which(name)
        if program is not None and _is_wrk2(program):
            return (Wrk2(program), BuiltIn())
    if named:
        raise BenchError(f"WRK2={named} is no wrk2: its usage text must have the options --rate and --script")
    return (BuiltIn(),)


def _is_wrk2(program: str) -> bool:
    """wrk2 calls itself wrk, and its version is that of the wrk it was made from. Only wrk2 has both options."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        shown = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=10, check=False)
        return {"--rate", "--script"} <= set(re.findall(r"--\w+", shown.stdout + shown.stderr))
    return False


def _run(name: str, command: Sequence[str], timeout_s: float) -> str:
    """Run a generator's program to its end; return its output. Raises BenchError with its last line of error."""
    try:
        done = subprocess.run([*tied(), *command], capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{name} did not end within {timeout_s:g} s") from error
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise BenchError(f"{name} failed: {reason}: {' '.join(command[1:])}")
    return done.stdout
