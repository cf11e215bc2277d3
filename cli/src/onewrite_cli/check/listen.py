"""`onewrite check` without a command: a counting server for any client, and for tests in any language."""

from __future__ import annotations

import json
import select
import sys
from pathlib import Path
from typing import Any

from onewrite_lab.tap import Exchange
from onewrite_lab.witness import read_loss

from onewrite_cli.check.client import report_of
from onewrite_cli.check.command import CheckOptions
from onewrite_cli.check.seen import seen_at
from onewrite_cli.check.target import Target
from onewrite_cli.common.controls import request_controls
from onewrite_cli.common.outcome import Report
from onewrite_cli.common.terminal import counted

__all__ = ["listen"]

POLL_MS = 50
NOT_STARTED = "the tool did not start the client, and may not read its sockets"


def listen(options: CheckOptions, folder: Path) -> Report:
    """Print the URL and a line per request until it is interrupted, nobody reads the output, or `until` requests have come.

    Raises CouldNotRun where the port is taken.
    """
    controls, before = request_controls(), read_loss()
    target = Target(folder, tls=options.tls, port=options.port or 0)
    target.sockets.fault = target.sockets.fault or NOT_STARTED
    lines = _Lines(as_json=options.format == "json")
    for origin in target.origins:
        origin.on_request = lines.request
    try:
        lines.listening(target.url, target.ca_file if options.tls else None)
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)  # POLLERR and POLLHUP are always reported
        while not lines.broken and not (options.until and target.requests >= options.until):
            if poll.poll(POLL_MS):
                break
        target.settle()
    except KeyboardInterrupt:
        pass
    finally:
        target.close()
    seen = seen_at(target, controls + request_controls(), (read_loss() - before).total)
    report = report_of([], seen, 0)
    report.problem = None if seen.requests else "no request came"
    return report


class _Lines:
    """Lines on stdout, from the threads of the server."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.broken = False

    def _print(self, data: dict[str, Any], text: str) -> None:
        try:
            print(json.dumps(data) if self._as_json else text, flush=True)
        except OSError:
            self.broken = True

    def listening(self, url: str, ca_file: str | None) -> None:
        trust = f", trust {ca_file}" if ca_file else ""
        self._print({"url": url, "ca_file": ca_file}, f"listening on {url}{trust}; Ctrl-C ends it, and judges what came")

    def request(self, exchange: Exchange) -> None:
        """Before it is answered: a test that reads lines has the line when it has the answer."""
        request = exchange.request
        head, body, path = len(request.head), request.body_bytes, request.path.partition("?")[0]
        data = {
            "method": request.method,
            "path": path,
            "connection": exchange.arrival.index,
            "head_bytes": head,
            "body_bytes": body,
            "segments": exchange.segments,
            "records": exchange.records,
        }
        records = "" if exchange.records is None else f"  {counted(exchange.records, 'record')}"
        segments = "" if exchange.segments is None else f"  {counted(exchange.segments, 'segment')}"
        faults = "  not valid HTTP/1.1" if request.problems else ""
        where = f"connection {exchange.arrival.index:<4} {request.method} {path[:40]:<20}"
        self._print(data, f"{where} {head}+{body} bytes{segments}{records}{faults}")
