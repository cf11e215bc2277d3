"""The lists of what each adapter touches in a process (05-footprint.md): their form."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import yaml

from onewrite_conformance.contract.places import SCHEMAS, SPEC, read_yaml

__all__ = ["footprint_faults"]


def footprint_faults(folder: Path = SPEC / "testdata" / "footprint") -> list[str]:
    """The faults of all lists in this folder."""
    schema = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "footprint-v1.schema.json").read_text()))
    faults = []
    for file in sorted(folder.glob("*.yaml")):
        try:
            data = read_yaml(file.read_text())
        except yaml.YAMLError as error:
            faults.append(f"footprint/{file.name}: {error}")
            continue
        broken = sorted(schema.iter_errors(data), key=lambda error: [str(part) for part in error.absolute_path])
        faults += [
            f"footprint/{file.name}: {'/'.join(map(str, one.absolute_path)) or 'itself'}: {one.message[:200]}"
            for one in broken
        ]
        if broken:
            continue
        seen = set()
        for one in data["mechanisms"]:
            if (one["name"], one["kind"]) in seen:
                faults.append(f"footprint/{file.name}: {one['name']} stands twice")
            seen.add((one["name"], one["kind"]))
    return faults
