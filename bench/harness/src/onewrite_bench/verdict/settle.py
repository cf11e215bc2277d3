"""What several measurements of one group show together.

A busy machine can make any group look bad once. A defect comes back each time. So a group that is not clean is
measured again (engines/repeat.py), and is red only when every measurement found the same for certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onewrite_bench.verdict.judge import FAULTS
from onewrite_bench.verdict.results import Verdict

__all__ = ["Earlier", "settle"]

Earlier = dict[str, list[str]]
"""Per verdict's subject: what earlier measurements of its group came to."""


def settle(verdicts: Sequence[Verdict], earlier: Earlier, busy: Callable[[], bool]) -> None:
    """Turn the last measurement's states into final ones: clean, stalls, inconclusive or not run."""
    for line in verdicts:
        before = earlier.get(line.subject, [])
        if line.state in ("clean", "shown", "not run"):
            if before and line.state == "clean":
                line.text += f" (measurement {len(before) + 1}; before: {', '.join(before)})"
            continue
        states = [*before, line.state]
        if line.details.get("certain"):
            continue
        if all(state in FAULTS for state in states):
            line.text += f" ({_times(states)})" if before else ""
        elif "inconclusive" in states:
            line.state = "inconclusive"
            line.text += f" ({_times(states)}: {', '.join(states)})" if before else ""
        elif line.details.get("calm") and not busy():
            line.state = "stalls"
            line.text += f" ({_times(states)}, on a quiet machine)"
        else:
            line.state = "inconclusive"
            line.text += f" ({_times(states)}, on a busy machine)"


def _times(states: Sequence[str]) -> str:
    return "measured once" if len(states) == 1 else f"measured {len(states)} times"
