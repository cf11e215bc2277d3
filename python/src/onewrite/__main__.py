"""``python -m onewrite run app.py`` and ``python -m onewrite status``: install() without a change of code."""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import types
import typing

import onewrite


def _status(as_json: bool) -> None:
    """Print what install() does in a process of this interpreter and this environment."""
    import urllib3  # noqa: F401 - install() waits for it

    try:
        onewrite.install()
    except onewrite.UnsupportedBaseError as error:
        print(f"onewrite: {error}", file=sys.stderr)
    found = onewrite.status()
    if as_json:
        print(json.dumps(found, indent=2))
        return
    state = "in force" if found["enabled"] else f"not in force: {found['off_because']}"
    print(f"onewrite {found['version']} over urllib3 {found['base']['version']}: {state}")
    print("options: " + ", ".join(f"{name}={value}" for name, value in found["options"].items()))
    for name in found["patches"]:
        print(f"  {name}")


def _report(record: onewrite.Record) -> None:
    print(record, file=sys.stderr)


def _code_of_module(name: str) -> tuple[types.CodeType, typing.Any]:
    """Return the code of module *name*, or of its __main__ where it is a package, and its spec."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ImportError as error:
        raise SystemExit(f"onewrite: {name}: {error}") from None
    loader: typing.Any = spec and spec.loader
    if spec is None or loader is None:
        raise SystemExit(f"onewrite: no module {name}")
    return loader.get_code(spec.name), spec


def _code_of_path(path: str) -> tuple[types.CodeType, typing.Any]:
    """Return the code of a script, or of the __main__.py of a folder or zip file, and the spec of the latter."""
    spec = importlib.machinery.PathFinder.find_spec("__main__", [path])
    if spec is not None and spec.loader is not None:
        sys.path[0] = path
        return typing.cast(typing.Any, spec.loader).get_code("__main__"), spec
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    try:
        with io.open_code(os.path.abspath(path)) as file:
            return compile(file.read(), path, "exec", dont_inherit=True), None
    except OSError as error:
        raise SystemExit(f"onewrite: {error}") from None


def _run(target: str, arguments: list[str], module: bool, timing: bool) -> None:
    """Run a program as Python itself would, with install() in force.

    Its ``__main__`` stays in sys.modules until the process ends: exit functions and jobs of executors look there.
    """
    hook = _report if timing else None
    onewrite.install(hook)  # waits for the program to import urllib3
    if timing:
        from . import httpx as of_httpx

        of_httpx.install(_report)
    if module:
        sys.path[0] = os.getcwd()
    code, spec = _code_of_module(target) if module else _code_of_path(target)
    main = types.ModuleType("__main__")
    main.__dict__.update(__spec__=spec, __file__=spec.origin if spec else target, __builtins__=__builtins__)
    if module:
        main.__package__ = spec.parent
    sys.argv = [spec.origin if module else target, *arguments]
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m onewrite", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    status = commands.add_parser("status", help="what install() patches here, what is off, and why")
    status.add_argument("--json", action="store_true", help="as JSON")
    run = commands.add_parser("run", help="run a program with install() in force")
    run.add_argument(
        "--timing", action="store_true", help="print a line about each request to standard error, of httpx, too"
    )
    run.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    run.add_argument("program", help="a script, or a folder or zip file with __main__.py; with -m a module")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's arguments")
    options = parser.parse_args()
    if options.command == "status":
        _status(options.json)
    else:
        # As they stand: argparse drops the first "--" of them.
        arguments = sys.argv[sys.argv.index(options.program, 2) + 1 :]
        _run(options.program, arguments, options.module, options.timing)


if __name__ == "__main__":
    main()
