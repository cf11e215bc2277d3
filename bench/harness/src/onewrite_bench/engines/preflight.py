"""Sends a few requests to an unknown target first: one that fails for a bare socket cannot judge a client."""

from __future__ import annotations

import time
from dataclasses import replace

from onewrite_bench.engines.raw_driver import Connection, How
from onewrite_bench.scenario import Scenario, Target
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict.results import Verdict

__all__ = ["examine"]

REQUESTS = 3


def examine(scenario: Scenario, places: Places) -> tuple[Scenario, list[Verdict]]:
    """The scenario without the targets that cannot judge a client, and a verdict for each of those."""
    verdicts = []
    fit = []
    for target in scenario.targets:
        why = _why_not(target, places, scenario.parameters.get("expect"))
        if why is None:
            fit.append(target)
        else:
            verdicts.append(Verdict(target.name, "inconclusive", why))
    groups = tuple(
        replace(group, targets=tuple(target for target in group.targets if target in fit)) for group in scenario.groups
    )
    return replace(scenario, groups=groups if fit else ()), verdicts


def _why_not(target: Target, places: Places, expect: int | None) -> str | None:
    authority = places.certificate_authority
    how = How(
        nagle=False,
        split=False,
        gap_us=0,
        pieces=1,
        quickack=False,
        authority=str(authority) if authority is not None and target.url is None else None,
        proxy=None,
    )
    connection = Connection(places.url(target), how)
    answered = False
    try:
        for _ in range(REQUESTS):
            began = time.monotonic()
            status = connection.post("POST", b"x" * 200)
            if not (status == expect if expect else 200 <= status < 300):
                hint = "PATH_TO_POST=, HOST= or " if target.url is None else "PATH_TO_POST= or "
                return (
                    f"the target fails: it answers {status} to POST {target.path if target.url is None else ''}"
                    f"{'' if target.url is None else target.url}; set {hint}EXPECT={status}"
                )
            answered = True
            if connection.closes:
                return "not kept alive: nothing to judge (it closes the connection after each answer)"
            if time.monotonic() - began > 20:
                return "the target fails: an answer took over 20 s"
    except (OSError, ValueError) as error:
        if answered and isinstance(error, ConnectionError):
            return "not kept alive: nothing to judge (it closes the connection after each answer)"
        return f"the target fails: {error}"
    finally:
        connection.close()
    return None
