"""`onewrite check`: of a client, of a server, or of whatever comes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from onewrite_cli.common.exit_status import CouldNotRun
from onewrite_cli.common.outcome import Report, apply_severities, read_severities

__all__ = ["CheckOptions", "check"]


@dataclass
class CheckOptions:
    """Without a command the tool listens. With {port} in it, or `port`, the command is a server; else a client."""

    command: list[str]
    requests: int = 20
    until: int | None = None
    body: int = 200
    tls: bool = False
    proxy: bool = False
    port: int | None = None
    path: str = "/"
    rules: list[str] = field(default_factory=list)
    strict: bool = False
    timeout_s: float = 120.0
    show: bool = False
    format: str = "text"


def check(options: CheckOptions) -> Report:
    """Judge it. Raises CouldNotRun."""
    severities = read_severities(options.rules, strict=options.strict)
    if options.proxy and not options.command:
        raise CouldNotRun("--proxy needs a command that makes requests")
    words = " ".join(options.command)
    client = options.proxy or options.until or "{url}" in words or "{https_url}" in words
    if client and options.command and options.port is not None:
        raise CouldNotRun("--port is of a command that is a server; {url}, --proxy and --until are of a client")
    server = bool(options.command) and not client and (options.port is not None or "{port}" in words)
    with _scratch() as folder:
        if server:
            from onewrite_cli.check.server import check_server

            report = check_server(options)
        elif options.command:
            from onewrite_cli.check.client import check_client

            report = check_client(options, folder)
        else:
            from onewrite_cli.check.listen import listen

            report = listen(options, folder)
    apply_severities(report.outcomes, severities)
    return report


@contextlib.contextmanager
def _scratch() -> Iterator[Path]:
    """A folder that goes with the block."""
    folder = Path(os.environ.get("TMPDIR") or "/tmp", f"onewrite-{os.getpid()}-{time.monotonic_ns():x}")
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise CouldNotRun(f"TMPDIR: {folder.parent}: {error.strerror}") from error
    try:
        yield folder
    finally:
        import shutil  # at the end, where its import delays no start

        shutil.rmtree(folder, ignore_errors=True)
