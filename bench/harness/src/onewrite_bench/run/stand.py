"""`stand`: HAProxy with `option http-buffer-request` before an origin that answers at once, to try things by hand."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from onewrite_lab.servers.children import Children

from onewrite_bench.topology.servers import Servers

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_run)


def _run(_: argparse.Namespace) -> int:
    """Print where they listen; end with Ctrl-C or when standard input ends."""
    with TemporaryDirectory(prefix="onewrite-stand-") as directory, Children(Path(directory)) as children:
        servers = Servers(children, {"haproxy": True}, Path(directory))
        port, origin = servers.port("haproxy/http-buffer-request"), servers.port("origin/plain")
        print(f"export URL=http://127.0.0.1:{port}/ PORT={port} ORIGIN=http://127.0.0.1:{origin}/", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()
    return 0
