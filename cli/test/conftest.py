"""Runs the command as users do, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import warm

HERE = Path(__file__).resolve().parent
CLIENT = [sys.executable, str(HERE / "client.py")]
KEPT_OUT = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE")


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.upper() not in KEPT_OUT}


@dataclass
class Done:
    status: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        """The JSON report, valid by its schema."""
        assert self.out, self.err
        data: dict[str, Any] = json.loads(self.out)
        name = data["tool"].removeprefix("onewrite ").replace(" --", "-")
        schema = json.loads((files("onewrite_cli") / "schemas" / f"{name}-v1.schema.json").read_text())
        Draft202012Validator(schema).validate(data)
        assert data["exit_status"] == self.status
        return data

    @property
    def states(self) -> dict[str, str]:
        return {finding["rule"]: finding["state"] for finding in self.data["findings"]}

    def finding(self, rule: str) -> dict[str, Any]:
        return next(finding for finding in self.data["findings"] if finding["rule"] == rule)


def onewrite(*arguments: str, env: dict[str, str] | None = None, timeout: float = 110, stdin: str | None = None) -> Done:
    """Run `onewrite` with these arguments."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write((stdin or "").encode())
        given.seek(0)
        status = warm.run(list(arguments), {**clean_environment(), **(env or {})}, [given, out, err], timeout)
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode())
    return Done(status, *printed)


def run(command: list[str], env: dict[str, str] | None = None, timeout: float = 110) -> Done:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**clean_environment(), **(env or {})},
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def conclusive(run: Callable[[], Done]) -> Done:
    """A run of `onewrite check -f json`, repeated at most twice where a busy machine made the control inconclusive."""
    for _ in range(3):
        done = run()
        if done.states.get("OW105") != "inconclusive":
            break
    return done


def wait_for(holds: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)


def check(
    faults: str, *options: str, url: str = "{url}", arguments: tuple[str, ...] = (), env: dict[str, str] | None = None
) -> Done:
    """`onewrite check --strict -f json` of the test's own client."""
    command = ("check", "--strict", "-f", "json", *options, "--", *CLIENT, faults, url, *arguments)
    return conclusive(lambda: onewrite(*command, env=env))
