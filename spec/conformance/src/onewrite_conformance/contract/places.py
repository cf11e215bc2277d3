"""Where the contract lies, in the checkout of this file or inside the installed package, and how its YAML is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

__all__ = ["CASES", "CONFORMANCE", "ROOT", "SCHEMAS", "SPEC", "read_yaml", "reports"]

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml is built in


def _root() -> Path:
    for folder in [Path(os.environ["ONEWRITE_ROOT"])] if "ONEWRITE_ROOT" in os.environ else Path(__file__).parents:
        if (folder / "spec" / "schemas").is_dir():
            return folder
    raise RuntimeError("no contract here: set ONEWRITE_ROOT to the folder of a onewrite checkout")


#: The checkout. Of an installed package, its own folder, which has a copy of spec/ and no adapters.
ROOT = _root()
SPEC = ROOT / "spec"
SCHEMAS = SPEC / "schemas"
CASES = SPEC / "cases"
CONFORMANCE = SPEC / "conformance"


def reports() -> Path:
    """The folder for JUnit and JSON results; made when missing. $ONEWRITE_REPORTS, or build/reports of the checkout, or
    of the working folder where there is no checkout."""
    home = ROOT if CONFORMANCE.is_dir() else Path.cwd()
    folder = Path(os.environ.get("ONEWRITE_REPORTS") or home / "build" / "reports")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def read_yaml(text: str) -> Any:
    """Raises yaml.YAMLError."""
    return yaml.load(text, Loader=LOADER)
