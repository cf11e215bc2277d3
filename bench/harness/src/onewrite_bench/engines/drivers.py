"""Finds and builds the language drivers, and detects a driver that is older than its source."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from onewrite_bench.failures import BenchError
from onewrite_bench.paths import REPOSITORY

__all__ = ["build", "chosen", "command", "environment", "languages", "stale"]

#: Nodes that npm has as packages, by runtime; the script that installs and finds them.
NODES = {"node22": "22.23.3", "node24": "24.21.0"}
NODE_BINARY = str(REPOSITORY / "node" / "tools" / "node-binary.sh")

#: Packages of Debian sid that .ci/in-debian installs for the runtime `debian`: a newer Python and Ruby.
DEBIAN = "python3,python3-urllib3,python3-requests,ruby,ruby-net-http"


def languages(checkout: Path = REPOSITORY) -> tuple[str, ...]:
    """The folders of a checkout that have a driver/run."""
    return tuple(sorted(run.parents[1].name for run in checkout.glob("*/driver/run")))


def chosen(names: str | None) -> tuple[str, ...]:
    """The languages in a comma-separated list; all of them for None. Raises BenchError for an unknown one."""
    wanted = tuple(name.strip() for name in (names or ",".join(languages())).split(",") if name.strip())
    for name in wanted:
        if name not in languages():
            raise BenchError(f"no language {name!r}; there are {', '.join(languages())}")
    return wanted


def command(language: str, program: str | None = None, runtime: str | None = None) -> list[str] | None:
    """The command of a language's driver, or of one of its programs; None when it is not there.

    The runtime `debian` is that of Debian sid, in a separate root.
    """
    if language == "raw":
        return [sys.executable, "-m", "onewrite_bench.engines.raw_driver"]
    if program is not None:
        return [sys.executable, "-m", "onewrite_bench.engines.program_driver", language, program]
    run = REPOSITORY / language / "driver" / "run"
    within = [str(REPOSITORY / ".ci" / "in-debian"), "current", DEBIAN] if runtime == "debian" else []
    return [*within, str(run)] if run.exists() else None


def environment(runtime: str | None) -> dict[str, str]:
    """The variables that select a runtime for a driver: `debian`, `node22`, `node24`, or None for this machine's."""
    if runtime == "debian":
        return {"ONEWRITE_PYTHON": "python3", "PYTHONPATH": str(REPOSITORY / "python" / "src")}
    if runtime is None:  # no other ONEWRITE_ variable of the user is passed on
        return {name: os.environ[name] for name in ("ONEWRITE_NODE", "ONEWRITE_PYTHON") if os.environ.get(name)}
    found = subprocess.run([NODE_BINARY, NODES[runtime]], capture_output=True, text=True, check=False)
    return {"ONEWRITE_NODE": found.stdout.strip()} if found.returncode == 0 else {"ONEWRITE_NODE": f"/no/{runtime}"}


def build(language: str, checkout: Path = REPOSITORY) -> None:
    """Run `make driver`. Raises BenchError with the end of its output."""
    done = _make(checkout / language, "driver")
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-15:])
        raise BenchError(f"make -C {language} driver failed:\n{last}")


def stale(language: str, checkout: Path = REPOSITORY) -> str | None:
    """Return the reason why this driver must not be judged: a source is newer than its build. None if it is current."""
    folder = checkout / language
    stamp = "driver/target/.built"
    if not (folder / "driver" / "target").is_dir() or _make(folder, "-q", stamp).returncode == 0:
        return None
    return f"the driver is older than its source: make -C {language} driver"


def _make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # The flags and the virtual environment of an outer make do not apply.
    outer = ("MAKE", "MFLAGS", "VIRTUAL_ENV")
    return subprocess.run(
        ["make", "-s", "--no-print-directory", "-C", str(folder), *arguments],
        env={name: value for name, value in os.environ.items() if not name.startswith(outer)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
