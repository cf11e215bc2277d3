"""A check's report as JSON: schemas/check-v1.schema.json."""

from __future__ import annotations

import json
from typing import Any

from onewrite_cli import __version__
from onewrite_cli.check.outcome import Outcome, Report

__all__ = ["as_data", "as_json"]


def as_data(report: Report) -> dict[str, Any]:
    return {
        "tool": "onewrite check",
        "version": __version__,
        "schema": 1,
        "command": report.command,
        "exit_status": int(report.exit_status),
        "verdict": report.exit_status.name.lower(),
        "problem": report.problem,
        "witness": report.witness,
        "runs": report.runs,
        "requests": report.requests,
        "connections": report.connections,
        "control_ms": report.control_ms,
        "findings": [_finding(outcome) for outcome in report.outcomes],
        "notes": report.notes,
    }


def as_json(report: Report) -> str:
    return json.dumps(as_data(report), indent=2)


def _finding(outcome: Outcome) -> dict[str, Any]:
    return {
        "rule": outcome.rule.id,
        "name": outcome.rule.name,
        "title": outcome.rule.title,
        "state": outcome.state.value,
        "detail": outcome.detail,
        "count": outcome.count,
        "of": outcome.of,
        "unit": outcome.unit,
        "witness": outcome.witness,
        "cost_ms": outcome.cost_ms,
        "examples": outcome.examples,
        "cure": outcome.cure,
    }
