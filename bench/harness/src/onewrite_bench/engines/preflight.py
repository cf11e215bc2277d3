"""Sends a few requests to an unknown target first: one that fails for a bare socket cannot judge a client."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import replace

from onewrite_lab.client import GOOD, Connection

from onewrite_bench.scenario import Scenario, Target
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict.results import Verdict

__all__ = ["examine"]

REQUESTS = 3
PATIENCE_S = 10.0
"""A target that answers later, or never, is not measured."""


def examine(
    scenario: Scenario, places: Places, say: Callable[[str], None] = lambda _: None
) -> tuple[Scenario, list[Verdict]]:
    """The scenario without the targets that cannot judge a client, and a verdict for each of those.

    Of several frontends, one that does not pass the request on (a redirect to https, a page of statistics) is left out
    and does not make the run inconclusive, unless the user picked it.
    """
    verdicts = []
    ca_file = scenario.parameters.get("ca_file")
    fit = []
    for target in scenario.targets:
        say(f"{target.name}: {REQUESTS} requests, to see that it answers (at most {PATIENCE_S:.0f} s each)")
        why = _why_not(target, places, scenario.parameters.get("expect"), ca_file)
        if why is None:
            fit.append(target)
        else:
            verdicts.append(Verdict(target.name, "inconclusive", why))
    if fit and scenario.parameters.get("pick"):
        for verdict in verdicts:
            verdict.counts, verdict.state = False, "shown"
            verdict.text = f"left out: {verdict.text}; FRONTENDS={verdict.subject} judges it"
    groups = tuple(
        replace(group, targets=tuple(target for target in group.targets if target in fit)) for group in scenario.groups
    )
    return replace(scenario, groups=groups if fit else ()), verdicts


def _why_not(target: Target, places: Places, expect: int | None, ca_file: str | None) -> str | None:
    authority = ca_file if target.url is not None else places.certificate_authority
    how = replace(GOOD, authority=str(authority) if authority is not None else None, timeout_s=PATIENCE_S)
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
            if time.monotonic() - began > PATIENCE_S:
                return f"the target fails: an answer took over {PATIENCE_S:.0f} s"
    except TimeoutError:
        return f"the target fails: no answer within {PATIENCE_S:.0f} s"
    except ssl.SSLCertVerificationError as error:
        return f"the target fails: {error.verify_message}; CA_FILE= names an authority that all clients trust"
    except (OSError, ValueError) as error:
        if answered and isinstance(error, ConnectionError):
            return "not kept alive: nothing to judge (it closes the connection after each answer)"
        return f"the target fails: {error}"
    finally:
        connection.close()
    return None
