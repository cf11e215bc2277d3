"""Scenarios made from what a user names: HAPROXY_CFG=, their own configuration, or TARGET=, their own address."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from onewrite_bench.failures import BenchError
from onewrite_bench.scenario import Group, Scenario, Target, load
from onewrite_bench.topology.adopt import adopt

__all__ = ["of_configuration", "of_target"]

CONNECT_S = 10.0


def of_configuration(path: Path, directory: Path) -> Scenario:
    """The POST scenario over the frontends of a HAProxy configuration. Nobody knows yet which of them stall."""
    try:
        text = path.read_text()
    except OSError as error:
        raise BenchError(f"HAPROXY_CFG={path} cannot be read: {error.strerror}") from error
    adopted = adopt(text)
    directory.mkdir(parents=True, exist_ok=True)
    rewritten = directory / "adopted.cfg"
    rewritten.write_text(adopted.text)
    targets = tuple(
        Target(name=name, at=f"haproxy/{name}", stalls=True, scheme=scheme) for name, scheme in adopted.frontends
    )
    story = f"The frontends of {path.name}. Left out: {'; '.join(adopted.changed) or 'nothing'}."
    topology = {"haproxy": str(rewritten), "tls": True}
    return _scenario("own-haproxy", f"POST through {path.name}", story, topology, targets)


def of_target(url: str) -> Scenario:
    """The POST scenario over one address that the user named. It gets POSTs of 200 bytes, one after the other."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise BenchError(f"TARGET={url} is not an address like http://host:port/path")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        # Else every client would be told to fail its requests.
        socket.create_connection((parts.hostname, port), CONNECT_S).close()
    except OSError as error:
        raise BenchError(f"TARGET={url} takes no connection: {error.strerror or error}") from error
    target = Target(name=parts.netloc, at=f"target/{port}", stalls=True, scheme=parts.scheme, url=url)
    return _scenario("own-target", f"POST to {parts.netloc}", "An address that the user named.", {}, (target,))


def _scenario(name: str, title: str, story: str, topology: dict[str, object], targets: tuple[Target, ...]) -> Scenario:
    pattern = load("post-stall")
    parameters = {key: value for key, value in pattern.parameters.items() if key != "rates"}
    groups: tuple[Group, ...] = tuple(replace(group, targets=targets) for group in pattern.groups)
    parameters["unknown"] = True
    return Scenario(name, title, story, "post", topology, groups, parameters)
