"""The bench's own generator: raw sockets at a constant rate, in a process of their own."""

from __future__ import annotations

import json
import platform
import sys

from onewrite_bench.failures import BenchError
from onewrite_bench.generators import open_loop
from onewrite_bench.generators.measurement import GRACE_S, Measurement, Plan, call
from onewrite_bench.verdict.stats import percentile

__all__ = ["BuiltIn"]


class BuiltIn:
    """Waits for every answer that is due, so a collapse counts in full."""

    name = "built-in"

    def run(self, plan: Plan) -> Measurement:
        load = {
            "url": plan.url,
            "method": plan.method,
            "body": {"size": plan.body_bytes},
            "rate": plan.rate,
            "connections": plan.connections,
            "warmup": plan.warmup * plan.rate,
            "seconds": plan.warmup + plan.seconds,
        }
        # A collapsed client answers what is due long after the end.
        patience = 10 * (plan.seconds + plan.warmup) + GRACE_S
        done = call([sys.executable, "-m", open_loop.__name__, json.dumps(load)], patience)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise BenchError(f"the built-in generator failed: {last}")
        seen = json.loads(done.stdout)
        seconds = max(1.0, seen["sent_s"] - plan.warmup + 1 / plan.rate)
        samples = seen["latencies_us"]
        p50, p90, p99 = (percentile(samples or [0], level) for level in (50, 90, 99))
        return Measurement(
            generator=self.name,
            generator_version=f"Python {platform.python_version()}",
            offered_rate=plan.rate,
            achieved_rate=round((len(samples) + seen["errors"]) / seconds, 3),
            connections=plan.connections,
            warmup_seconds=plan.warmup,
            seconds=round(seconds, 3),
            requests=len(samples),
            errors=seen["errors"],
            error_sample=seen["error_sample"],
            slip_p90_us=percentile(seen["late_us"] or [0], 90),
            p50_us=p50,
            p90_us=p90,
            p99_us=p99,
        )
