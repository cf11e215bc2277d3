"""TARGET=: an address of the user's, of which the bench does not know whether it stalls.

A raw socket sends three requests first: an address that fails for it cannot judge a client. Where not even the control
stalls, the adapters are clean, with a note. Time that the service itself takes is the raw socket's time.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from onewrite_lab.client import GOOD, Connection

from onewrite_bench.failures import BenchError
from onewrite_bench.scenario import Parameters, Scenario, Target, load
from onewrite_bench.topology.places import Places

__all__ = ["VARIABLES", "examine", "of_target"]

REQUESTS, PATIENCE_S = 3, 10.0
VARIABLES = ("EXPECT", "CA_FILE")
"""EXPECT=404 is a status other than 2xx that is right; CA_FILE= names an authority that all clients trust."""


def of_target(url: str, env: Mapping[str, str] = os.environ) -> Scenario:
    """The groups of post-stall over one address. It gets POSTs of 200 bytes, one after the other."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        plain = re.fullmatch(r"[!-~]+", url) is not None
        right = plain and parts.scheme in ("http", "https") and parts.hostname and not parts.username
    except ValueError:
        right = False
    if not right:
        raise BenchError(f"TARGET={url} is not an address like http://host:port/path") from None
    expect, ca_file = env.get("EXPECT") or None, env.get("CA_FILE") or None
    if expect is not None and not re.fullmatch(r"[2-5]\d\d", expect):
        raise BenchError(f"EXPECT={expect} is not a status from 200 to 599")
    if ca_file is not None and not Path(ca_file).is_file():
        raise BenchError(f"CA_FILE={ca_file}: no such file")
    try:
        # One message; else each client would be reported as failing.
        socket.create_connection((parts.hostname or "", port), PATIENCE_S).close()
    except OSError as error:
        raise BenchError(f"TARGET={url} takes no connection: {error.strerror or error}") from error
    target = Target(name=parts.netloc, at=f"target/{port}", stalls=True, scheme=parts.scheme, url=url)
    pattern = load("post-stall")
    groups = tuple(replace(group, targets=(target,)) for group in pattern.groups if group.required)
    # Each driver starts in another folder.
    authority = str(Path(ca_file).resolve()) if ca_file else None
    parameters = Parameters(unknown=True, expect=int(expect) if expect else None, ca_file=authority)
    title = f"POST to {parts.netloc}"
    return Scenario("own-target", title, "An address that the user named.", "post", {}, groups, parameters)


def examine(scenario: Scenario, places: Places) -> str | None:
    """Return the reason if this target cannot show a stall, else None."""
    (target,) = scenario.targets
    expect = scenario.parameters.expect
    how = replace(GOOD, authority=scenario.parameters.ca_file, timeout_s=PATIENCE_S)
    connection = Connection(places.url(target), how)
    unkept = "not kept alive: nothing to judge (it closes the connection after each answer)"
    answered = False
    try:
        for _ in range(REQUESTS):
            began = time.monotonic()
            status = connection.post("POST", b"x" * 200)
            if not (status == expect if expect else 200 <= status < 300):
                return (
                    f"the target fails: it answers {status} to POST {target.url}; EXPECT={status} takes that as right"
                )
            answered = True
            if connection.closes:
                return unkept
            if time.monotonic() - began > PATIENCE_S:
                return f"the target fails: an answer took over {PATIENCE_S:.0f} s"
    except TimeoutError:
        return f"the target fails: no answer within {PATIENCE_S:.0f} s"
    except ssl.SSLCertVerificationError as error:
        return f"the target fails: {error.verify_message}; CA_FILE= names an authority that all clients trust"
    except (OSError, ValueError) as error:
        return unkept if answered and isinstance(error, ConnectionError) else f"the target fails: {error}"
    finally:
        connection.close()
    return None
