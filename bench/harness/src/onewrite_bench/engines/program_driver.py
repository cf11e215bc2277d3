"""A driver over a program of bench/programs: a few lines with a library that people use and that has no driver.

The kind `stock` runs the program as it is, `patched` with `--cured`. The program prints its library and version. Then
it answers each line `URL COUNT` with the times of that number of POSTs in microseconds.

usage: program_driver.py LANGUAGE NAME
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from onewrite_bench.engines.raw_driver import serve
from onewrite_bench.paths import BENCH, REPOSITORY

__all__ = ["main"]

PROGRAMS = BENCH / "programs"


def _command(language: str) -> list[str]:
    folder = PROGRAMS / language
    if language == "node":
        return [os.environ.get("ONEWRITE_NODE", "node"), str(folder / "program.mjs")]
    if language == "ruby":
        return ["ruby", "-W0", "-I", str(REPOSITORY / "ruby" / "lib"), str(folder / "program.rb")]
    return [str(folder / ".venv/bin/python"), str(folder / "program.py")]


class Client:
    """An open client. All clients share the program, which has one connection to each URL."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program

    def load(self, command: dict[str, Any]) -> dict[str, Any]:
        """Requests one after the other: `count` of them, or 20 where the command has seconds."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(f"{command['url']} {command.get('count') or 20}\n")
        self._program.stdin.flush()
        line = self._program.stdout.readline()
        if not line:
            sys.exit(f"the program ended with status {self._program.wait()}")
        return {"latencies_us": json.loads(line), "errors": 0, "error_sample": None}

    def close(self) -> None:
        """The program ends with this driver."""


def main() -> None:
    language, name = sys.argv[1:]
    hello = json.loads(sys.stdin.readline())
    command = _command(language)
    if not Path(command[0]).exists() and "/" in command[0]:
        print(json.dumps({"seq": hello["seq"], "skipped": "not set up: make -C bench programs"}), flush=True)
        return
    program = subprocess.Popen(
        [*command, name, *(["--cured"] if hello["client"] == "patched" else [])],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "python" / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    line = program.stdout.readline()
    if not line:
        sys.exit(f"the program ended with status {program.wait()}")
    about = json.loads(line)
    base = {"name": about["name"], "version": about["version"]}
    serve(hello, lambda _: Client(program), base, about["runtime"])
    program.kill()


if __name__ == "__main__":
    main()
