"""Says what will be sent before it is sent, and asks, unless the address is this machine's own."""

from __future__ import annotations

import sys

from onewrite_cli.doctor.request import DoctorRequest
from onewrite_cli.doctor.route import Route
from onewrite_cli.exit_status import CouldNotRun

__all__ = ["ask"]


def ask(route: Route, request: DoctorRequest, count: int, *, yes: bool, connections: int = 4) -> None:
    """Tell on stderr; raises CouldNotRun unless the user agrees."""
    body = f" with a body of {request.body_bytes} bytes" if request.body_bytes else ""
    url = f"{route.url.scheme}://{route.authority}{route.url.path or '/'}"
    through = f" through {route.first_hop}" if route.proxy else ""
    what = f"{count} {request.method} requests{body} to {url}{through}, one at a time on {connections} connections"
    print(f"will send {what}", file=sys.stderr, flush=True)
    if yes or route.loopback:
        return
    if not sys.stdin.isatty():
        raise CouldNotRun("nothing was sent: the address is not this machine's own, and nobody is there to ask; say --yes")
    print("Is this server yours to test? Send them? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CouldNotRun("nothing was sent")
