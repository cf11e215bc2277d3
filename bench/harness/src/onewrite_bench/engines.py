"""The engines of scenarios that measure something else than POSTs of the language drivers, by `kind`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .children import Children
from .console import Console
from .observe import observe
from .results import Run
from .scenario import Scenario
from .wan import wan

__all__ = ["ENGINES", "Engine"]

Engine = Callable[[Scenario, Children, Path, Console, Run], None]

ENGINES: dict[str, Engine] = {"observe": observe, "wan": wan}
