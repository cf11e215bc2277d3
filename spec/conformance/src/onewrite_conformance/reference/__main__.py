"""The reference as a driver: `python -m onewrite_conformance.reference [--break MUTANT]`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from onewrite_conformance import __version__
from onewrite_conformance.reference.client import Client
from onewrite_conformance.reference.errors import CallError
from onewrite_conformance.reference.mutants import MUTANTS, broken, choose

__all__ = ["main"]

WIRE = [f"body:{kind}" for kind in ("bytes", "text", "memory_file", "form", "stream")]
WIRE += ["cancel", "proxy_forward", "proxy_connect", "socket_options", "expect_continue", "concurrency"]
WIRE += ["redirects", "prompt_memory", "objects"]
OWN = ["timing", "events", "dns_split", "shared_clock", "queue", "informational", "quickack", "checked_options"]
OWN += ["attempts", "install", "status"]


class Skipped(Exception):
    pass


class Program:
    """One driver process."""

    def __init__(self) -> None:
        self.kind = ""
        self.clients: dict[int, Client] = {}

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        command = message["cmd"]
        if command == "hello":
            return self._hello(message)
        if command == "open":
            number = len(self.clients) + 1
            try:
                self.clients[number] = Client(self.kind, message.get("options") or {})
            except CallError as error:
                refused = {"kind": error.kind, "type": type(error).__name__, "message": str(error)}
                return {"outcome": "error", "error": refused}
            return {"client_id": number}
        if command == "close":
            self.clients[message["client_id"]].close()
            return {"ok": True}
        if command == "api":
            return self.clients[message["client_id"]].api(message["do"])
        if command == "request":
            return self.clients[message["client_id"]].request(message)
        if command == "batch":
            requests = message["requests"]
            with ThreadPoolExecutor(len(requests)) as pool:
                results = list(pool.map(self.clients[message["client_id"]].request, requests))
            if broken("mixed_records"):
                told = [{key: one[key] for key in ("timing", "events") if key in one} for one in results]
                results = [one | other for one, other in zip(results, told[1:] + told[:1], strict=True)]
            return {"results": results}
        if command == "bye":
            return {"ok": True}
        raise Skipped(f"the reference has no {command}")

    def _hello(self, message: dict[str, Any]) -> dict[str, Any]:
        self.kind = message["client"]
        if self.kind not in ("onewrite", "stock"):
            raise Skipped(f"the reference has no client {self.kind}")
        own = self.kind == "onewrite"
        linux = ["tcp_info", "rwnd_limited"] if own and sys.platform == "linux" else []
        return {
            "protocol": 1,
            "client": self.kind,
            "adapter": "reference",
            "version": __version__,
            "base": {"name": "socket", "version": platform.python_version()},
            "runtime": f"{platform.python_implementation()} {platform.python_version()}",
            "pid": os.getpid(),
            "apis": ["reference"],
            "capabilities": WIRE + (OWN if own else []) + linux,
            "clock": {"mono_ns": time.monotonic_ns(), "unix_ns": time.time_ns()},
        }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m onewrite_conformance.reference", description=__doc__)
    parser.add_argument("--break", dest="mutant", choices=[*MUTANTS], metavar="MUTANT", help=" ".join(MUTANTS))
    options = parser.parse_args(arguments)
    if options.mutant:
        choose(options.mutant)
    program = Program()
    for line in sys.stdin:
        message = json.loads(line)
        try:
            reply = program.answer(message)
        except Skipped as skipped:
            reply = {"skipped": str(skipped)}
        except Exception:
            reply = {"crashed": traceback.format_exc()}
        sys.stdout.write(json.dumps({"seq": message["seq"], **reply}) + "\n")
        sys.stdout.flush()
        if message["cmd"] == "bye":
            break
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
