"""Checks an installed package: a POST is one segment and one record, and the extras are there. Exit 0 if so."""

from __future__ import annotations

import importlib.metadata
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import onewrite
from tap import Tap, mode


def main() -> int:
    records: list[onewrite.Record] = []
    with Tap() as server:
        http = onewrite.PoolManager(on_timing=records.append)
        for _ in range(20):
            http.request("POST", server.url(), body=b"x" * 200)
        http.clear()
    segments = mode(one.segments for one in server.seen)
    print(f"{onewrite.__file__}: {segments} segment per POST, {len(records)} records")
    package = importlib.metadata.distribution("onewrite")
    extras = set(package.metadata.get_all("Provides-Extra") or ())
    print(f"extras {sorted(extras)}")
    return 0 if segments == 1 and len(records) == 20 and extras == {"httpx", "opentelemetry"} else 1


if __name__ == "__main__":
    sys.exit(main())
