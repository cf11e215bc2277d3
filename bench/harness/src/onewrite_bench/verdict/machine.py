"""The machine and the versions behind a number."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from onewrite_lab.servers import haproxy

from onewrite_bench.paths import REPOSITORY

__all__ = ["describe", "line"]


def describe() -> dict[str, Any]:
    """The figures that a reader needs to repeat a run, without host and user names."""
    return {
        "system": platform.system(),
        "kernel": platform.release().split("-")[0],
        "architecture": platform.machine(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "haproxy": haproxy.version(),
        "python": platform.python_version(),
        "onewrite": (REPOSITORY / "VERSION").read_text().strip(),
        "commit": _commit(),
    }


def line(machine: dict[str, Any]) -> str:
    """The same in one sentence."""
    parts = [
        f"{machine['system']} {machine['kernel']}",
        machine["architecture"],
        f"{machine['cores']} cores{' (' + machine['cpu'] + ')' if machine.get('cpu') else ''}",
        f"HAProxy {machine['haproxy']}",
        f"onewrite {machine['onewrite']}" + (f", commit {machine['commit']}" if machine.get("commit") else ""),
    ]
    if machine.get("load_average") is not None:
        parts.append(f"load average {machine['load_average']} at the start")
    return ", ".join(parts)


def _commit() -> str:
    """The checkout's commit; a + behind it says that tracked files differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=REPOSITORY, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results", ":!*.md", ":!*.json"
        )
        return git("rev-parse", "--short=8", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu_model() -> str | None:
    with contextlib.suppress(OSError):
        for text in Path("/proc/cpuinfo").read_text().splitlines():
            if text.startswith("model name"):
                return text.split(":", 1)[1].strip()
    return platform.processor() or None
