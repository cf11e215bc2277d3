"""Events and the record made of them (events.yaml)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.redact import redact

__all__ = ["Recorder"]

PHASES = {
    "queue": ("queue_start", "queue_end"),
    "dns": ("dns_start", "dns_end"),
    "connect": ("connect_start", "connect_end"),
    "tls": ("tls_start", "tls_end"),
    "send": ("request_start", "request_end"),
    "wait": ("request_end", "response_start"),
    "receive": ("response_start", "response_end"),
    "total": ("attempt_start", "attempt_end"),
}


class Recorder:
    """Collects the events of one call. With `hook` None it does nothing at all.

    `hook(event)` may raise: that is swallowed, and the request goes on.
    """

    def __init__(self, method: str, url: str, hook: Callable[[dict[str, Any]], None] | None) -> None:
        self.on = hook is not None
        self.events: list[dict[str, Any]] = []
        self.attempt = -1
        self.phase: str | None = None  # where the call is, for errors; None before its first phase
        self.kernel: dict[int, dict[str, Any]] = {}
        self.cause: dict[int, str | None] = {}
        self.failed: dict[int, str | None] = {}  # the phase in which an attempt failed
        self.connecting: dict[int, dict[str, int]] = {}  # the stale_phase mutant's memory
        self.hook_errors = 0
        self._hook = hook
        self._method = method
        self._url = redact(url) if self.on else url
        self._open: list[str] = []
        self._unix_ns = time.time_ns() + broken("wall_clock") * 3_600_000_000_000 if self.on else 0

    def now(self) -> int:
        """The time, for an event that is delivered a little later; 0 when nobody listens."""
        return time.monotonic_ns() if self.on else 0

    def event(self, name: str, *, at_ns: int = 0, **fields: Any) -> int:
        """Deliver an event; return its time (0 when nobody listens)."""
        if not self.on:
            return 0
        event: dict[str, Any] = {"name": name, "t_ns": at_ns or time.monotonic_ns()}
        if broken("clock_back") and name == "response_end":
            event["t_ns"] -= 1_000_000_000
        if self.attempt >= 0 and not name.startswith("call_"):
            event["attempt"] = self.attempt
        event |= fields
        self._deliver(event)
        return int(event["t_ns"])

    def mine(self) -> list[dict[str, Any]]:
        """The events of this attempt."""
        return [event for event in self.events if event.get("attempt") == self.attempt]

    def _deliver(self, event: dict[str, Any]) -> None:
        name = event["name"]
        if name.endswith("_start") and name in {start for start, _ in PHASES.values()} - {"response_start"}:
            self._open.append(name)
        elif name.endswith("_end") and name[:-4] + "_start" in self._open:
            self._open.remove(name[:-4] + "_start")
        self.events.append(event)
        try:
            assert self._hook is not None
            self._hook(event)
        except Exception:  # a user's hook never changes the request
            self.hook_errors += 1
            if broken("raising_hook"):
                raise

    def start_call(self) -> None:
        self.event("call_start", method=self._method, url=self._url, started_at_unix_ns=self._unix_ns)

    def start_attempt(self) -> None:
        self.attempt += 1
        self.event("attempt_start")

    def end_attempt(self, outcome: str, error: str | None = None) -> None:
        """Close what is open, then the attempt."""
        self.failed[self.attempt] = self.phase if outcome != "ok" and not broken("lost_phase") else None
        for start in [name for name in reversed(self._open) if name != "attempt_start"]:
            name = start[:-6] + "_end"
            if name in ("dns_end", "connect_end", "tls_end"):
                self.event(name, error=error or outcome)
            elif name == "request_end":
                self.event(name, bytes=0, writes=0)
            else:
                self.event(name)
        self.event("attempt_end", outcome=outcome)

    def end_call(self, outcome: str, kind: str | None = None, phase: str | None = None) -> None:
        if broken("lost_call_end") and outcome != "ok":
            return
        fields: dict[str, Any] = {"error_kind": kind, "error_phase": phase}
        self.event("call_end", outcome=outcome, **{key: value for key, value in fields.items() if value})
        if broken("double_call_end"):
            self.event("call_end", outcome=outcome)

    # -- the record ---------------------------------------------------------------------------------------

    def record(self) -> dict[str, Any] | None:
        """The finished record, None when nobody listens."""
        if not self.on:
            return None
        first, last = self.events[0], self.events[-1]
        attempts = [self._attempt(index) for index in range(self.attempt + 1)]
        if broken("no_attempt") and last.get("error_kind") == "other":
            attempts = []
        if broken("summed_attempts") and len(attempts) > 1:
            for phase in PHASES:
                values = [attempt.get(f"{phase}_ns") for attempt in attempts]
                attempts[-1][f"{phase}_ns"] = sum(value for value in values if value) or None
        record = {
            "method": self._method,
            "url": self._url,
            "outcome": last.get("outcome"),
            "error_kind": last.get("error_kind"),
            "error_phase": last.get("error_phase"),
            "started_at_unix_ns": self._unix_ns,
            "started_at_mono_ns": first["t_ns"],
            "total_ns": last["t_ns"] - first["t_ns"] if not broken("wrong_total") else attempts[-1]["total_ns"],
            "attempts": attempts,
        }
        return {key: value for key, value in record.items() if value is not None}

    def _attempt(self, index: int) -> dict[str, Any]:
        own = [event for event in self.events if event.get("attempt") == index]
        times: dict[str, int] = {}
        fields: dict[str, Any] = {}
        for event in own:
            times.setdefault(event["name"], event["t_ns"])
            if event["name"] in ("dns_end", "connect_end", "tls_end"):
                times[event["name"]] = event["t_ns"]
            fields[event["name"]] = event
        attempt: dict[str, Any] = {"index": index, "outcome": fields.get("attempt_end", {}).get("outcome")}
        acquired = fields.get("connection_acquired", {})
        attempt |= {key: acquired.get(key) for key in ("conn_id", "reused", "idle_ns", "conn_requests")}
        attempt["status"] = fields.get("headers_end", {}).get("status")
        attempt["bytes_sent"] = fields.get("request_end", {}).get("bytes")
        attempt["writes"] = fields.get("request_end", {}).get("writes")
        attempt["bytes_received"] = fields.get("response_end", {}).get("bytes")
        for phase, (start, end) in PHASES.items():
            if self.failed.get(index) == phase and end not in times:
                end = "attempt_end"
            if start in times and end in times and times[end] >= times[start]:
                attempt[f"{phase}_ns"] = max(1, times[end] - times[start])
            elif broken("zero_phase"):
                attempt[f"{phase}_ns"] = 0
        if broken("wrong_distance") and "wait_ns" in attempt:
            attempt["wait_ns"] += 5_000_000
        if broken("stale_phase") and acquired.get("reused"):
            attempt |= {f"{phase}_ns": value for phase, value in self.connecting.get(index, {}).items()}
        attempt["kernel"] = self.kernel.get(index)
        attempt["cause"] = self.cause.get(index)
        return {key: value for key, value in attempt.items() if value is not None}
