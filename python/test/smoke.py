"""Checks an installed package: a POST is one segment and one record; extras and entry point import. Exit 0 if so."""

from __future__ import annotations

import importlib.metadata
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import onewrite
from tap import Tap, mode


def main() -> int:
    timings: list[onewrite.Timing] = []
    with Tap() as server:
        http = onewrite.PoolManager(on_timing=timings.append)
        for _ in range(20):
            http.request("POST", server.url(), body=b"x" * 200)
        http.clear()
    segments = mode(one.segments for one in server.seen)
    print(f"{onewrite.__file__}: {segments} segment per POST, {len(timings)} records")
    package = importlib.metadata.distribution("onewrite")
    extras = set(package.metadata.get_all("Provides-Extra") or ())
    entry_points = {one.name: one.value for one in package.entry_points if one.group == "opentelemetry_instrumentor"}
    print(f"extras {sorted(extras)}, instrumentors {entry_points}")
    described = extras >= {"httpx", "httpx2", "opentelemetry"} and entry_points == {
        "onewrite": "onewrite.opentelemetry:OnewriteInstrumentor"
    }
    return 0 if segments == 1 and len(timings) == 20 and described else 1


if __name__ == "__main__":
    sys.exit(main())
