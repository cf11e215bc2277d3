"""`onewrite tap`: the counting server alone, for any client by hand, or for a test in any language."""

from __future__ import annotations

import json
import os
import select
import sys

from onewrite_lab.certificates import shared as certificates
from onewrite_lab.tap import Exchange, Script, Tap

from onewrite_cli.exit_status import CouldNotRun, ExitStatus
from onewrite_cli.width import fitted

__all__ = ["tap"]

POLL_MS = 500


def tap(port: int, *, tls: bool, mss: int | None, delay_ms: int, trace: bool, form: str) -> ExitStatus:
    """Serve until interrupted, or until nobody reads: one line per request. Raises CouldNotRun when the port is taken."""
    output = _Output()
    script = Script.of({"answers": [{"delay_ms": delay_ms}]} | ({"mss": mss} if mss else {}))
    told = output.as_json if form == "json" else output.as_text
    try:
        server = Tap(script, scheme="https" if tls else "http", on_request=told, trace=output.say if trace else None, port=port)
    except (OSError, OverflowError) as error:
        raise CouldNotRun(f"port {port}: {error}") from error
    with server:
        ca_file = certificates().ca_file if tls else None
        if form == "json":
            output.say(json.dumps({"url": server.base + "/", "ca_file": ca_file}))
        else:
            trust = f", trust {ca_file}" if ca_file else ""
            output.say(f"listening on {server.base}{trust} (pid {os.getpid()}); Ctrl-C ends it")
        output.wait()
    return ExitStatus.CLEAN


class _Output:
    """Lines on stdout, from the threads of the server."""

    def __init__(self) -> None:
        self._broken = False

    def say(self, line: str) -> None:
        try:
            print(line, flush=True)
        except OSError:
            self._broken = True

    def wait(self) -> None:
        """Return when the reader of stdout has gone."""
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)  # POLLERR and POLLHUP are always reported
        while not self._broken and not poll.poll(POLL_MS):
            pass

    def as_json(self, exchange: Exchange) -> None:
        request = exchange.request
        line = {
            "method": request.method,
            "path": request.path,
            "connection": exchange.arrival.index,
            "head_bytes": len(request.head),
            "body_bytes": len(request.body),
            "segments": exchange.segments,
            "records": exchange.records,
        }
        self.say(json.dumps(line))

    def as_text(self, exchange: Exchange) -> None:
        request = exchange.request
        records = "" if exchange.records is None else f"  {exchange.records} records"
        faults = f"  NOT HTTP/1.1: {'; '.join(request.problems)}" if request.problems else ""
        self.say(
            f"#{exchange.number:<5} connection {exchange.arrival.index:<4} {request.method} {fitted(request.path, 40):<20} "
            f"{len(request.head)}+{len(request.body)} bytes  {exchange.segments} segments{records}  "
            f"{len(exchange.reads)} reads{faults}"
        )
