"""Replies of drivers that still speak version 1, in the form of version 2. To be deleted with the last of them."""

from __future__ import annotations

from typing import Any

import yaml

from onewrite_conformance.contract.places import SPEC

__all__ = ["upgraded"]

_MODEL = yaml.safe_load((SPEC / "events.yaml").read_text())
_PLAIN = set(_MODEL["record"]) - {"method", "url", "started_at_unix_ns", "started_at_mono_ns"}


def upgraded(reply: dict[str, Any]) -> dict[str, Any]:
    """Add `records`, made of `timing` and `events`, to a reply and to each of its `results`."""
    for result in reply.get("results") or ():
        upgraded(result)
    if "outcome" in reply and "records" not in reply:
        timing = reply.get("timing")
        found = _records(timing, reply.get("events") or []) if isinstance(timing, dict) else []
        reply["records"] = found * max(1, int(reply.get("timings") or 1))
    return reply


def _records(timing: dict[str, Any], events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    records = []
    attempts = timing.get("attempts") or []
    for number, attempt in enumerate(attempts):
        own = [one for one in events if one.get("attempt") == attempt.get("index", number)]
        last = number == len(attempts) - 1
        starts = [int(one["t_ns"]) for one in own if one["name"] == "attempt_start"]
        record = {name: value for name, value in attempt.items() if name in _PLAIN and value is not None}
        url = str(timing.get("url") or "").partition("?")[0].partition("#")[0]
        record |= {"method": timing["method"], "url": url}
        record["started_at_unix_ns"] = timing["started_at_unix_ns"]
        record["started_at_mono_ns"] = starts[0] if starts else timing.get("started_at_mono_ns") or 0
        if record["outcome"] == "error":
            record["error_kind"] = "other"
        if last:
            record |= {name: timing[name] for name in ("outcome", "error_kind", "error_phase") if timing.get(name)}
        if number:
            record["resend"] = number
        times: dict[str, int] = {}
        for one in own:
            if one["name"] in _MODEL["events"] and not one.get("error"):
                times.setdefault(one["name"], int(one["t_ns"]))
        records.append(record | {"events": sorted(times.items(), key=lambda one: _MODEL["events"].index(one[0]))})
    return records
