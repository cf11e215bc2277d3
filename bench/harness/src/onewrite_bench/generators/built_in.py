"""The bench's own generator (bench/generator, Java and HdrHistogram): always there after `make setup`."""

from __future__ import annotations

import json
import shutil
from typing import Any

from onewrite_bench.failures import BenchError
from onewrite_bench.generators.measurement import Distribution, Measurement
from onewrite_bench.generators.plan import GRACE_S, Plan, call
from onewrite_bench.paths import BENCH

__all__ = ["JAR", "BuiltIn"]

JAR = BENCH / "generator" / "target" / "open-loop.jar"


class BuiltIn:
    """Waits for every answer that is due, so a collapse counts in full."""

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
        done = call(command, 10 * (plan.seconds + plan.warmup) + GRACE_S)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise BenchError(f"the built-in generator failed: {last}")
        raw: dict[str, Any] = json.loads(done.stdout)
        return Measurement(
            generator=raw["generator"],
            generator_version=raw["generator_version"],
            offered_rate=raw["offered_rate"],
            achieved_rate=round((raw["requests"] + raw["errors"]) / raw["seconds"], 3),
            connections=plan.connections,
            warmup_seconds=plan.warmup,
            seconds=raw["seconds"],
            requests=raw["requests"],
            errors=raw["errors"],
            error_sample=raw["error_sample"],
            slip_p90_us=raw["slip_p90_us"],
            latency=Distribution.from_json(raw["latency"]),
            service=Distribution.from_json(raw["service"]),
        )
