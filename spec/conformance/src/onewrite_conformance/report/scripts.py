"""Keeps scripts that came out another way than with stock, as files that `--script` plays again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import yaml

from onewrite_conformance.contract.cases import Case, Run

__all__ = ["keep"]


def keep(folder: Path, adapter: str, run: Run, text: str) -> Path:
    """Write the script of this run, with what differed as a comment; return the file."""
    name = "-".join([adapter, *run.path.split("/")]).replace(":", "-")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.yaml"
    case = _raw(run.case) | {"schemes": [run.scheme], "routes": [run.route]}
    again = f"play it again: --script {file} --adapter {adapter} --client {run.client}"
    comment = "\n".join(f"# {line}" for line in [again, *text.splitlines()])
    whole = {"version": 2, "family": run.case.of.split("-")[0], "cases": [case]}
    file.write_text(comment + "\n" + yaml.safe_dump(whole, sort_keys=False, width=120, allow_unicode=True))
    return file


def _raw(case: Case, left_out: Sequence[str] = ("where", "example")) -> dict[str, Any]:
    """The case as in a file of cases, without what is a default."""
    raw = {}
    for one in fields(case):
        value = getattr(case, one.name)
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        if one.name not in left_out and value != default:
            raw[one.name] = value
    return raw
