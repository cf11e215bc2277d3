"""A baseline: what an earlier check found does not fail this one, unless it got worse."""

from __future__ import annotations

import json
from pathlib import Path

from onewrite_cli.check.outcome import Outcome, State
from onewrite_cli.exit_status import CouldNotRun

__all__ = ["apply_baseline", "read_baseline"]


def read_baseline(path: Path) -> dict[str, float]:
    """By rule, the share of requests found in an earlier `-f json` report. Raises CouldNotRun."""
    try:
        report = json.loads(path.read_text())
        if report["tool"] != "onewrite check":
            raise ValueError(report["tool"])
        return {
            finding["rule"]: finding["count"] / max(1, finding["of"])
            for finding in report["findings"]
            if finding["state"] in ("found", "warned", "known")
        }
    except OSError as error:
        raise CouldNotRun(f"the baseline {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CouldNotRun(f"{path} is no report of `onewrite check -f json`: {error}") from error


def apply_baseline(outcomes: list[Outcome], known: dict[str, float]) -> list[str]:
    """Mark what is known; return notes about lines of the baseline that no longer hold."""
    notes = []
    for outcome in outcomes:
        if outcome.rule.id not in known:
            continue
        if outcome.state is State.FOUND:
            # A tenth more is the same finding: counts differ a little from run to run.
            if outcome.count / max(1, outcome.of) <= known[outcome.rule.id] + 0.1:
                outcome.state = State.KNOWN
            else:
                outcome.detail += "; more than in the baseline"
        elif outcome.state is State.OK:
            notes.append(f"{outcome.rule.id} is in the baseline and was not found: take it out")
    return notes
