"""The engines of scenarios that measure something else than POSTs of the language drivers, by `kind`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onewrite_bench.console import Console
from onewrite_bench.engines.observe import observe
from onewrite_bench.engines.wan import wan
from onewrite_bench.scenario import Scenario
from onewrite_bench.topology.children import Children
from onewrite_bench.verdict.results import Run

__all__ = ["ENGINES", "Engine"]

Engine = Callable[[Scenario, Children, Path, Console, Run], None]

ENGINES: dict[str, Engine] = {"observe": observe, "wan": wan}
