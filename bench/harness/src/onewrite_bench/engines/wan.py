"""The engine of the `wan` scenario: the POST engine with servers and clients in two namespaces, a distance apart."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from onewrite_lab.servers.children import Children, script
from onewrite_lab.servers.network import Network

from onewrite_bench.console import Console
from onewrite_bench.engines import repeat
from onewrite_bench.engines.clients import Clients
from onewrite_bench.engines.post import PostEngine
from onewrite_bench.failures import BenchError
from onewrite_bench.paths import TOPOLOGY
from onewrite_bench.scenario import Scenario
from onewrite_bench.topology.servers import Servers
from onewrite_bench.verdict.results import Run

__all__ = ["wan", "why_not"]


def why_not() -> str | None:
    """Return the reason if this machine cannot make a wide-area network, else None."""
    if sys.platform != "linux":
        return "network namespaces exist on Linux only"
    if os.geteuid() != 0:
        return "network namespaces need root: sudo make bench SCENARIO=wan"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun here: modprobe tun, or give the container that device"
    missing = [program for program in ("ip", "nsenter") if shutil.which(program) is None]
    return f"{missing[0]} is not installed: apt-get install iproute2 util-linux" if missing else None


def wan(scenario: Scenario, directory: Path, console: Console, run: Run) -> None:
    """Run every distance of the scenario. Sets `run.skipped` where it cannot."""
    run.skipped = why_not()
    if run.skipped:
        return
    for number, distance in enumerate(scenario.parameters.distances):
        if run.skipped is None:
            with Children(directory / str(number)) as helpers:
                _at_distance(scenario, helpers, directory / str(number), console, run, distance)


def _at_distance(
    scenario: Scenario, children: Children, directory: Path, console: Console, run: Run, distance: dict[str, Any]
) -> None:
    rtt_ms, hold_ms = float(distance["rtt_ms"]), float(distance["peer_delack_ms"])
    command = script(TOPOLOGY / "wan.py", "--rtt-ms", str(rtt_ms), "--peer-delack-ms", str(hold_ms))
    try:
        ready = children.start("wan", command).ready
    except BenchError as error:
        run.skipped = f"the network could not be made: {error}"
        return
    network = Network(
        address=str(ready["far_address"]),
        servers=("nsenter", f"--net=/proc/{ready['far']}/ns/net"),
        clients=("nsenter", f"--net=/proc/{ready['near']}/ns/net"),
        server_namespace=f"/proc/{ready['far']}/ns/net",
    )
    groups = tuple(replace(group, name=f"{group.name}, {distance['name']}") for group in scenario.groups)
    servers = Servers(children, scenario.topology, directory, network)
    clients = Clients(servers)
    engine = PostEngine(scenario, servers, console, clients)
    try:
        run.earlier.update(repeat.measure(engine, groups, console, run.cells))
    finally:
        engine.stop()
        clients.stop()
        run.notes += [note for note in engine.notes if note not in run.notes]
