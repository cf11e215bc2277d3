"""Compares an observation with the expectations of its case; each difference is one line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from onewrite_conformance.checks.counts import judge_run, judge_step
from onewrite_conformance.checks.seen import Observation, Sample
from onewrite_conformance.checks.timing import (
    anywhere_problems,
    bound_problems,
    cause_problems,
    expected_problems,
    record_problems,
    timed,
)
from onewrite_conformance.checks.verdict import Verdict, either, matches
from onewrite_conformance.checks.wire import example_problems, wire_problems

__all__ = ["judge"]


def judge(seen: Observation) -> Verdict:
    """Judge one observation by the expectations of its case."""
    verdict = Verdict()
    verdict.problems += [f"the tap itself failed: {fault}" for fault in seen.tap_faults]
    steps = seen.run.case.do
    for sample in seen.samples:
        expect = seen.run.expect(steps[sample.step])
        found: list[str] = []
        if sample.counted:
            found += _outcome_problems(sample, expect)
            if timed(seen):
                found += expected_problems(sample, expect.get("timing", {}), seen.names)
        found += wire_problems(sample, expect, seen)
        label = f"request {seen.samples.index(sample)}: " if len(seen.samples) > 1 else ""
        verdict.problems += [label + one for one in found]
    if timed(seen):
        verdict.problems += record_problems(seen)
    judge_run(seen, verdict)
    for step in {sample.step for sample in seen.counted}:
        expect = seen.run.expect(steps[step])
        judge_step(seen, step, expect, verdict)
        samples = [sample for sample in seen.counted if sample.step == step]
        if timed(seen):
            verdict.problems += bound_problems(samples, expect)
            verdict.problems += cause_problems(samples, expect)
            verdict.problems += anywhere_problems(samples, expect)
    if seen.run.case.example is not None:
        for exchange in seen.counted_exchanges():
            verdict.problems += example_problems(exchange, seen.run.case.example, seen.names)
    verdict.problems = _condensed(verdict.problems)
    return verdict


def _condensed(problems: list[str]) -> list[str]:
    """Equal problems of several requests become one, with a count."""
    groups: dict[str, list[str]] = {}
    for problem in problems:
        key = re.sub(r"^request \d+: ", "", problem)
        groups.setdefault(re.sub(r"\d{4,}|\d+\.\d+", "#", key), []).append(problem)
    return [found[0] + (f" (and {len(found) - 1} more like it)" if len(found) > 1 else "") for found in groups.values()]


# -- outcome -----------------------------------------------------------------------------------------------


def _outcome_problems(sample: Sample, expect: dict[str, Any]) -> Iterable[str]:
    reply = sample.reply
    wanted = expect.get("outcome")
    if wanted is not None and not matches(reply["outcome"], wanted):
        error = reply.get("error") or {}
        said = f" ({error.get('kind')}, {error.get('type')}: {str(error.get('message'))[:160]})" if error else ""
        yield f"outcome is {reply['outcome']}, not {either(wanted)}{said}"
        return
    if "status" in expect and reply["outcome"] == "response" and not matches(reply.get("status"), expect["status"]):
        yield f"status is {reply.get('status')}, not {either(expect['status'])}"
    if "error" in expect and reply["outcome"] == "error":
        yield from _error_problems(reply["error"], expect["error"])
    if reply["outcome"] == "response" and expect.get("body") != "any":
        yield from _body_problems(sample)


def _error_problems(error: dict[str, Any], wanted: dict[str, Any]) -> Iterable[str]:
    for key in ("kind", "phase"):
        if key in wanted and not matches(error.get(key), wanted[key]):
            said = f"{error.get('type')}: {str(error.get('message'))[:160]}"
            yield f"error {key} is {error.get(key)}, not {either(wanted[key])} ({said})"


def _body_problems(sample: Sample) -> Iterable[str]:
    """The response body arrived as it was sent."""
    reply = sample.reply
    if sample.request.get("read") == "none" or not sample.exchanges or reply.get("body_sha256") is None:
        return
    if sample.request["method"] == "HEAD" and reply.get("body_bytes"):
        yield f"the answer to HEAD was delivered with a body of {reply['body_bytes']} bytes"
        return
    possible = sample.exchanges if sample.batch else sample.exchanges[-1:]
    bodies = []
    for exchange in possible:
        answer = exchange.answer
        if answer is None or answer.raw is not None or answer.truncate is not None:
            return
        empty = exchange.request.method == "HEAD" or answer.effective_status() in (204, 304)
        bodies.append(b"" if empty else answer.content())
    if reply["body_sha256"] not in {hashlib.sha256(body).hexdigest() for body in bodies}:
        yield f"the response body is not what was sent: {reply.get('body_bytes')} bytes, sent {len(bodies[-1])}"
