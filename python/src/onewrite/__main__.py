"""``python -m onewrite status`` and ``python -m onewrite run app.py``: install() without a change of code."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import runpy
import sys
import zipfile

import onewrite


def _status(as_json: bool) -> None:
    """Print what install() does in a process of this interpreter and this environment."""
    with contextlib.suppress(onewrite.UnsupportedBaseError):  # status says it
        onewrite.install()
    found = onewrite.status()
    print(json.dumps(found.to_dict(), indent=2) if as_json else found)


def _report(timing: onewrite.Timing) -> None:
    print(timing, file=sys.stderr)


def _run(target: str, arguments: list[str], module: bool, timing: bool, httpx: bool) -> None:
    """Run a script or a module as Python itself would, with install() in force."""
    hook = _report if timing else None
    try:
        onewrite.install(on_timing=hook)
    except onewrite.UnsupportedBaseError as error:
        print(f"onewrite: {error}", file=sys.stderr)
    if httpx:
        from ._httpcore.install import install  # imports httpcore, which not every program has

        install(on_timing=hook)
    sys.argv = [target, *arguments]
    if module:
        sys.path[0] = os.getcwd()
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    elif os.path.isfile(target) and not zipfile.is_zipfile(target):
        sys.path[0] = os.path.dirname(os.path.abspath(target))
        runpy.run_path(target, run_name="__main__")
    else:
        sys.path.pop(0)  # runpy puts a folder or a zip file there
        runpy.run_path(target, run_name="__main__")


def main() -> None:
    """Take the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m onewrite", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    status = commands.add_parser("status", help="what install() patches here, what is off, and why")
    status.add_argument("--json", action="store_true", help="as JSON")
    run = commands.add_parser("run", help="run a program with install() in force")
    run.add_argument("--timing", action="store_true", help="print a line about each request to standard error")
    run.add_argument("--httpx", action="store_true", help="reach the clients of httpx and httpx2, too")
    run.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    run.add_argument("program", help="a script, or a folder or zip file with __main__.py; with -m a module")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program is given")
    given = parser.parse_args()
    if given.command == "status":
        _status(given.json)
    else:
        _run(given.program, given.arguments, given.module, given.timing, given.httpx)


if __name__ == "__main__":
    main()
