"""A place to try the guide by hand: HAProxy with `option http-buffer-request` before an origin that answers at once.

usage: stand.py      prints where they listen; ends with Ctrl-C or when its standard input ends
"""

from __future__ import annotations

import contextlib
import signal
import sys

from frontends import HAPROXY
from servers import Missing, Servers


def main() -> int:
    buffer = tuple(one for one in HAPROXY if one.key == "buffer")
    with Servers() as servers:
        try:
            origin = servers.origin()
            port = servers.haproxy(origin, buffer)["buffer"]
        except Missing as missing:
            print(missing, file=sys.stderr)
            return 3
        print(f"export URL=http://127.0.0.1:{port}/ PORT={port} ORIGIN=http://127.0.0.1:{origin}/", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with SIGINT ignored
    sys.exit(main())
