"""A record as one line for people (TIME-31)."""

from __future__ import annotations

from typing import Any

__all__ = ["text"]

PHASES = ("queue", "dns", "connect", "tls", "send", "wait", "receive")


def text(record: dict[str, Any]) -> str:
    """Such as `POST http://… 200 in 41.9 ms: send 0.1, wait 41.7 (server), receive 0.1; reused conn 3`."""
    last = record["attempts"][-1]
    line = f"{record['method']} {record['url']} {_outcome(record, last)} in {_ms(record['total_ns'])} ms"
    phases = [f"{phase} {_ms(last[f'{phase}_ns'])}" for phase in PHASES if f"{phase}_ns" in last]
    phases = [phase + _why(last) + _split(last) if phase.startswith("wait") else phase for phase in phases]
    if phases:
        line += ": " + ", ".join(phases)
    if "conn_id" in last:
        line += f"; {'reused' if last['reused'] else 'new'} conn {last['conn_id']}"
    if len(record["attempts"]) > 1:
        line += f"; attempt {len(record['attempts'])}"
    return line


def _outcome(record: dict[str, Any], last: dict[str, Any]) -> str:
    words = [str(last["status"])] if "status" in last else []
    if record["outcome"] != "ok":
        kind = record.get("error_kind", "") if record["outcome"] == "error" else ""
        phase = f"in {record['error_phase']}" if "error_phase" in record else ""
        detail = f"{kind} {phase}".strip()
        words += [record["outcome"], f"({detail})" if detail else ""]
    return " ".join(word for word in words if word)


def _why(attempt: dict[str, Any]) -> str:
    cause = attempt.get("cause")
    if cause is None:
        return ""
    return " (server)" if cause == "server" else f" (held {_ms(attempt['kernel']['send_hold_ns'])}: {cause})"


def _split(attempt: dict[str, Any]) -> str:
    if "network_ns" not in attempt:
        return ""
    return f" = server {_ms(attempt['server_ns'])} + network {_ms(attempt['network_ns'])}"


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.1f}"
