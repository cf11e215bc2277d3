"""Peak memory of another process (Linux): the witness against copies of large bodies."""

from __future__ import annotations

from pathlib import Path

__all__ = ["peak", "reset_peak"]


def reset_peak(pid: int) -> int | None:
    """Forget the peak so far; return the resident size in bytes, or None where the kernel does not tell (proc(5))."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except OSError:
        return None
    return _field(pid, "VmRSS")


def peak(pid: int) -> int | None:
    """The highest resident size since the reset, in bytes."""
    return _field(pid, "VmHWM")


def _field(pid: int, name: str) -> int | None:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
