"""`python -m onewrite_lab.tap`: the tap alone, for any client."""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
from pathlib import Path

from onewrite_lab.certificates import shared
from onewrite_lab.tap.exchange import Exchange
from onewrite_lab.tap.server import Tap

__all__ = ["add_options", "main", "run"]

POLL_MS = 500


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the tap; `run` takes what they were set to."""
    parser.add_argument("--port", type=_port, default=8080, help="0 takes any free port (default 8080)")
    parser.add_argument("--tls", action="store_true", help="serve https; the authority's file is printed")
    forms = ("text", "json")
    parser.add_argument("-f", "--format", choices=forms, default="text", metavar="F", help="text or json")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65_535:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 65535")
    return port


def run(port: int, *, tls: bool, form: str, folder: Path | None = None) -> None:
    """Serve until interrupted, or until stdout is closed: one line per request. Raises OSError."""
    output = _Output()
    shown = output.as_json if form == "json" else output.as_text
    with Tap(scheme="https" if tls else "http", on_request=shown, port=port) as tap:
        ca_file = shared(folder).ca_file if tls else None
        if form == "json":
            output.say(json.dumps({"url": tap.base + "/", "ca_file": ca_file}))
        else:
            trust = f", trust {ca_file}" if ca_file else ""
            output.say(f"listening on {tap.base}{trust} (pid {os.getpid()}); Ctrl-C ends it")
        output.wait()


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
            f"#{exchange.number:<5} connection {exchange.arrival.index:<4} {request.method} {request.path[:40]:<20} "
            f"{len(request.head)}+{len(request.body)} bytes  {exchange.segments} segments{records}  "
            f"{len(exchange.reads)} reads{faults}"
        )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m onewrite_lab.tap",
        description="An HTTP/1.1 server that prints how each request arrived: segments, TLS records, reads, bytes.",
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    try:
        run(options.port, tls=options.tls, form=options.format)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
