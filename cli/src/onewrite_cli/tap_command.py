"""`onewrite tap`: the counting server alone, for any client by hand, or for a test in any language."""

from __future__ import annotations

import json
import time
from typing import Any

from onewrite_lab.certificates import shared as certificates
from onewrite_lab.tap import Exchange, Script, Tap
from onewrite_lab.tap.__main__ import main as tap_main

from onewrite_cli.exit_status import CouldNotRun, ExitStatus

__all__ = ["tap"]


def tap(port: int, *, tls: bool, mss: int | None, delay_ms: int, trace: bool, form: str) -> ExitStatus:
    """Serve until interrupted; one line per request. Raises CouldNotRun when the port is taken."""
    try:
        if form == "json":
            return _as_json(port, tls=tls, mss=mss, delay_ms=delay_ms)
        arguments = ["--port", str(port), "--delay-ms", str(delay_ms)]
        arguments += ["--tls"] if tls else []
        arguments += ["--trace"] if trace else []
        arguments += ["--mss", str(mss)] if mss else []
        return ExitStatus(tap_main(arguments))
    except OSError as error:
        raise CouldNotRun(f"port {port}: {error.strerror}") from error


def _as_json(port: int, *, tls: bool, mss: int | None, delay_ms: int) -> ExitStatus:
    """First a line with the URL and the authority to trust, then one per request, before it is answered."""
    script = Script.of({"answers": [{"delay_ms": delay_ms}]} | ({"mss": mss} if mss else {}))
    with Tap(script, scheme="https" if tls else "http", on_request=_told, port=port) as server:
        _say({"url": server.base + "/", "ca_file": certificates().ca_file if tls else None})
        while True:
            time.sleep(3600)


def _told(exchange: Exchange) -> None:
    request = exchange.request
    _say(
        {
            "method": request.method,
            "path": request.path,
            "connection": exchange.arrival.index,
            "head_bytes": len(request.head),
            "body_bytes": len(request.body),
            "segments": exchange.segments,
            "records": exchange.records,
        }
    )


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)
