"""Where things lie in a checkout."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CASES", "CONFORMANCE", "LANGUAGES", "ROOT", "SCHEMAS", "SPEC", "reports"]

LANGUAGES = ("java", "python", "ruby", "node")


def _root() -> Path:
    for folder in [Path(os.environ["ONEWRITE_ROOT"])] if "ONEWRITE_ROOT" in os.environ else Path(__file__).parents:
        if (folder / "spec" / "schemas").is_dir():
            return folder
    raise RuntimeError("the judge reads spec/ of a onewrite checkout: set ONEWRITE_ROOT to the checkout's folder")


ROOT = _root()
SPEC = ROOT / "spec"
SCHEMAS = SPEC / "schemas"
CASES = SPEC / "cases"
CONFORMANCE = SPEC / "conformance"


def reports() -> Path:
    """The folder for JUnit and JSON results; made when missing."""
    folder = Path(os.environ.get("ONEWRITE_REPORTS") or ROOT / "build" / "reports")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
