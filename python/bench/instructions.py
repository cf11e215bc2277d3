"""Instructions and system calls of one request, beside urllib3: figures with hardly any noise.

The requests are those of bench.py, direct; the client alone runs under valgrind, then under strace. What a request
costs is the difference between a run of many and a run of few, divided by the number of requests between the two.
Needs valgrind and strace, and takes a minute.

usage: instructions.py [NAME of a client in bench.py ...]
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import bench

FEW, MANY = 100, 400


def total(tool: list[str], client: str, url: str, requests: int) -> int:
    """Run *client* under *tool*; return the sum that it reports."""
    worker = [sys.executable, str(bench.HERE), "--work", client, "direct", url]
    with tempfile.NamedTemporaryFile() as report:
        subprocess.run(
            [word.replace("REPORT", report.name) for word in (*tool, *worker)],
            input=f"{requests}\n",
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdout=subprocess.DEVNULL,
            check=True,
            text=True,
        )
        text = pathlib.Path(report.name).read_text()
    found = re.search(r"I +refs: +([\d,]+)", text) or re.search(r"\s(\d+)\s+(?:\d+\s+)?total$", text, re.MULTILINE)
    assert found is not None, text
    return int(found[1].replace(",", ""))


def main() -> None:
    names = sys.argv[1:] or list(bench.CLIENTS)
    valgrind = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
        "--log-file=REPORT",
    ]
    strace = ["strace", "-f", "-c", "-o", "REPORT"]
    with bench.started(bench.HERE.parent / "origin.py") as origin:
        assert origin.stdout is not None
        url = f"http://127.0.0.1:{int(origin.stdout.readline())}/"
        stock = None
        for name in names:
            instructions, calls = (
                (total(tool, name, url, MANY) - total(tool, name, url, FEW)) / (MANY - FEW)
                for tool in (valgrind, strace)
            )
            stock = stock or instructions
            print(
                f"{name:26} {instructions:9.0f} instructions  × {instructions / stock:.3f}  {calls:.2f} system calls",
                flush=True,
            )


if __name__ == "__main__":
    main()
