"""A place to try the guide by hand: HAProxy with `option http-buffer-request` before an origin that answers at once.

usage: stand.py      prints where they listen; ends with Ctrl-C or when its standard input ends
"""

from __future__ import annotations

import contextlib
import sys

from shared import Servers, run


def main() -> int:
    with Servers() as servers:
        origin = servers.origin()
        port = servers.haproxy(origin)["buffer"]
        print(f"export URL=http://127.0.0.1:{port}/ PORT={port} ORIGIN=http://127.0.0.1:{origin}/", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()
    return 0


if __name__ == "__main__":
    run(main)
