"""Constant-rate generators: wrk2, oha, or the bench's own. Whichever ran, the result has one form.

Each counts a request's latency from the moment it was due, so a stalled client cannot hide by asking less.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from onewrite_bench.failures import BenchError
from onewrite_bench.generators import oha, wrk2
from onewrite_bench.generators.measurement import Distribution, Measurement
from onewrite_bench.paths import BENCH

__all__ = ["BuiltIn", "Generator", "Oha", "Plan", "Wrk2", "choose"]

JAR = BENCH / "generator" / "target" / "open-loop.jar"
_GRACE_S = 60


@dataclass(frozen=True)
class Plan:
    """What to send: `rate` requests per second over `connections`, for `seconds` after the warm-up."""

    url: str
    rate: float
    connections: int
    seconds: int
    method: str = "POST"
    body_bytes: int = 200
    warmup: int = 1


class Generator(Protocol):
    name: str

    def run(self, plan: Plan) -> Measurement:
        """Generate the load. Raises BenchError when no result could be had; a doubtful one is `void`."""


def _call(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{Path(command[0]).name} did not end within {timeout_s:g} s") from error
    except OSError as error:
        raise BenchError(f"{command[0]} could not be run: {error.strerror}") from error


class BuiltIn:
    """The bench's own generator (bench/generator, Java and HdrHistogram): always there after `make setup`."""

    name = "built-in"

    def run(self, plan: Plan) -> Measurement:
        java = shutil.which("java")
        if java is None or not JAR.exists():
            raise BenchError("the built-in generator is not built: make -C bench generator")
        command = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(JAR), plan.url]
        for option, value in (
            ("--rate", plan.rate),
            ("--connections", plan.connections),
            ("--seconds", plan.seconds),
            ("--method", plan.method),
            ("--body-bytes", plan.body_bytes),
            ("--warmup", plan.warmup),
        ):
            command += [option, str(value)]
        # A collapsed client answers what is due long after the end.
        done = _call(command, 10 * (plan.seconds + plan.warmup) + _GRACE_S)
        if done.returncode != 0:
            raise BenchError(f"the built-in generator failed: {done.stderr.strip().splitlines()[-1:]}")
        raw: dict[str, Any] = json.loads(done.stdout)
        return Measurement(
            generator=raw["generator"],
            generator_version=raw["generator_version"],
            offered_rate=raw["offered_rate"],
            achieved_rate=round((raw["requests"] + raw["errors"]) / raw["seconds"], 3),
            connections=plan.connections,
            seconds=raw["seconds"],
            requests=raw["requests"],
            errors=raw["errors"],
            error_sample=raw["error_sample"],
            slip_p90_us=raw["slip_p90_us"],
            latency=Distribution.from_json(raw["latency"]),
            service=Distribution.from_json(raw["service"]),
        )


class Wrk2:
    """giltene/wrk2 or a fork of it, found as WRK2= or on PATH. It is neither shipped nor built here."""

    name = "wrk2"

    def __init__(self, program: str) -> None:
        self._program = program

    @staticmethod
    def find() -> Wrk2 | None:
        """Detected by `-R` in its usage text: wrk2 calls itself wrk, and its version says nothing."""
        for candidate in (os.environ.get("WRK2"), "wrk2", "wrk"):
            program = shutil.which(candidate) if candidate else None
            if program is None:
                continue
            try:
                shown = _call([program, "--help"], 10)
            except BenchError:
                continue
            if wrk2.has_rate_option(shown.stdout + shown.stderr):
                return Wrk2(program)
        return None

    def run(self, plan: Plan) -> Measurement:
        seconds = max(20, plan.seconds + 10)  # it drops its first 10 s from the histogram
        with tempfile.TemporaryDirectory(prefix="onewrite-wrk2-") as directory:
            script = Path(directory) / "post.lua"
            script.write_text(wrk2.lua_script(plan.method, plan.body_bytes))
            threads = 1 if plan.connections % 2 else 2  # connections that do not divide are rounded down
            command = [self._program, "-t", str(threads), "-c", str(plan.connections), "-d", f"{seconds}s"]
            command += ["-R", f"{plan.rate:g}", "-L", "-s", str(script), plan.url]
            done = _call(command, seconds + _GRACE_S)
        return wrk2.parse(done.stdout, plan.rate, plan.connections)


class Oha:
    """oha, found as OHA= or on PATH; honest only with --latency-correction."""

    name = "oha"

    def __init__(self, program: str) -> None:
        self._program = program

    @staticmethod
    def find() -> Oha | None:
        for candidate in (os.environ.get("OHA"), "oha"):
            program = shutil.which(candidate) if candidate else None
            if program is None:
                continue
            try:
                if "--latency-correction" in _call([program, "--help"], 10).stdout:
                    return Oha(program)
            except BenchError:
                continue
        return None

    @property
    def version(self) -> str:
        """As it says itself; its JSON does not."""
        words = _call([self._program, "--version"], 10).stdout.split()
        return words[-1] if words else "unknown"

    def run(self, plan: Plan) -> Measurement:
        command = [self._program, "--no-tui", "--output-format", "json", "--latency-correction"]
        command += ["-q", f"{plan.rate:g}", "-c", str(plan.connections), "-z", f"{plan.seconds + plan.warmup}s"]
        command += ["-m", plan.method, "-d", "x" * plan.body_bytes, plan.url]
        done = _call(command, plan.seconds + plan.warmup + _GRACE_S)
        return oha.parse(done.stdout, plan.rate, plan.connections, self.version)


def choose(wanted: str | None = None) -> Generator:
    """The generator named in `wanted`, or the first that is there: wrk2, oha, the built-in one."""
    if wanted not in (None, "", "wrk2", "oha", "built-in"):
        raise BenchError(f"there is no generator {wanted!r}; there are wrk2, oha and built-in")
    if wanted in (None, "", "wrk2") and (found := Wrk2.find()) is not None:
        return found
    if wanted in (None, "", "oha") and (other := Oha.find()) is not None:
        return other
    if wanted in ("wrk2", "oha"):
        raise BenchError(f"{wanted} is not on PATH; set {wanted.upper()}=/path/to/it or use GENERATOR=built-in")
    return BuiltIn()


def plan_json(plan: Plan) -> dict[str, Any]:
    return asdict(plan)
