"""Pictures of a Python process, to be compared: what a package has changed shows by difference (FOOT-1 to FOOT-5)."""

from __future__ import annotations

import atexit
import builtins
import gc
import logging
import os
import pathlib
import re
import signal
import sys
import threading
import types
import typing
import warnings

LIST = pathlib.Path(__file__).parents[2] / "spec" / "testdata" / "footprint" / "python.yaml"

#: The modules whose globals and classes are in a picture.
PACKAGES = (
    "urllib3",
    "http",
    "httpcore",
    "httpx",
    "h11",
    "requests",
    "socket",
    "ssl",
    "_socket",
    "_ssl",
    "contextvars",
)

Picture = dict[str, typing.Any]

_forks: list[object] = []
_register_at_fork = getattr(os, "register_at_fork", None)


def watch_forks() -> None:
    """From now on os.register_at_fork() shows in a picture. It has no other sign."""

    def register(**functions: typing.Any) -> None:
        _forks.append(functions)
        if _register_at_fork is not None:
            _register_at_fork(**functions)

    os.register_at_fork = register


def mechanisms() -> list[dict[str, str]]:
    """The list of what may be touched."""
    found: list[dict[str, str]] = []
    for line in LIST.read_text().splitlines():
        entry = re.fullmatch(r"  (- |  )(name|kind|when|back|why): (.*)", line)
        if entry is None:
            continue
        if entry[1] == "- ":
            found.append({})
        found[-1][entry[2]] = entry[3]
    return found


def listed(*when: str, prefix: str = "") -> set[str]:
    """The names of replaced methods and set attributes that are touched by then, by module, class and name."""
    found: set[str] = set()
    for one in mechanisms():
        if one["kind"] == "replaced method" and one["when"] in when:
            found.update(name for name in one["name"].split(", ") if name.startswith(prefix))
    for name, owners in _ATTRIBUTES.items():
        if name.startswith(prefix) and any(one.startswith(name) for one in found):
            found |= {f"{owner}._onewrite" for owner in owners}
    if any("1.26" in name for name in (sys.modules["urllib3"].__version__,)) and "install" in when:
        found.add("urllib3.connection.HTTPConnection.request_chunked")
    return found


#: The classes that get an attribute when functions of these packages are replaced.
_ATTRIBUTES = {
    "urllib3": ("urllib3.connection.HTTPConnection", "urllib3.HTTPConnectionPool"),
    "httpx": ("httpx.HTTPTransport",),
}


def _class(cls: type) -> Picture:
    found: Picture = {f"{name}": id(value) for name, value in vars(cls).items() if name not in _OF_CPYTHON}
    found["(ancestors)"] = tuple(map(id, cls.__mro__))
    return found


#: CPython makes these when they are asked for.
_OF_CPYTHON = {
    "__dict__",
    "__weakref__",
    "__annotations__",
    "__abstractmethods__",
    "_abc_impl",
    "__static_attributes__",
}


def _modules() -> Picture:
    found: Picture = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in PACKAGES or not isinstance(module, types.ModuleType):
            continue
        for key, value in list(vars(module).items()):
            if isinstance(value, types.ModuleType) or key in ("__builtins__", "__warningregistry__", "__annotations__"):
                continue
            found[f"{name}.{key}"] = id(value)
            if isinstance(value, type) and value.__module__ == name:
                found.update({f"{name}.{key}.{attribute}": mark for attribute, mark in _class(value).items()})
    return found


def _handler(number: int) -> typing.Any:
    handler = signal.getsignal(number)
    return handler if isinstance(handler, int) else id(handler)


def process() -> Picture:
    """What can be seen of the process."""
    found = _modules()
    root = logging.getLogger()
    found |= {
        "gc.callbacks": tuple(map(id, gc.callbacks)),
        "gc.get_threshold()": gc.get_threshold(),
        "gc.isenabled()": gc.isenabled(),
        "atexit": atexit._ncallbacks(),
        "forks": len(_forks),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "signals": {number: _handler(number) for number in signal.valid_signals()},
        "trace": (id(sys.gettrace()), id(sys.getprofile())),
        "sys": {
            name: id(getattr(sys, name)) for name in ("excepthook", "unraisablehook", "displayhook", "breakpointhook")
        },
        "threading": {
            name: id(getattr(threading, name, None)) for name in ("excepthook", "_trace_hook", "_profile_hook")
        },
        "import": (tuple(map(id, sys.meta_path)), tuple(map(id, sys.path_hooks))),
        "warnings": (len(warnings.filters), id(warnings.showwarning)),
        "logging": (
            root.level,
            tuple(map(id, root.handlers)),
            tuple(map(id, root.filters)),
            id(logging.getLoggerClass()),
        ),
        "builtins": {name: id(value) for name, value in vars(builtins).items() if name != "_"},
        "environment": dict(os.environ),
    }
    return found


def difference(before: Picture, after: Picture) -> set[str]:
    """The names that were added, taken away or changed."""
    missing = object()
    return {
        name for name in before.keys() | after.keys() if before.get(name, missing) != after.get(name, missing)
    }  # fmt: skip


def public(names: set[str]) -> set[str]:
    """The names of methods as the list has them: by the shortest module that shows the class."""
    shortened = {
        "urllib3.connectionpool.HTTPConnectionPool": "urllib3.HTTPConnectionPool",
        "urllib3.connectionpool.HTTPSConnectionPool": "urllib3.HTTPSConnectionPool",
        "urllib3.response.HTTPResponse": "urllib3.HTTPResponse",
        "httpx._transports.default.HTTPTransport": "httpx.HTTPTransport",
        "httpx._transports.default.AsyncHTTPTransport": "httpx.AsyncHTTPTransport",
    }
    found = set()
    for name in names:
        name = name.removeprefix("requests.packages.").replace("VerifiedHTTPSConnection", "HTTPSConnection")  # aliases
        owner, _, attribute = name.rpartition(".")
        found.add(f"{shortened.get(owner, owner)}.{attribute}")
    return found


def alive(*kinds: str) -> list[str]:
    """The objects of onewrite's timing that something still refers to, by class."""
    gc.collect()
    return [
        type(one).__name__
        for one in gc.get_objects()
        if type(one).__name__ in kinds and "onewrite" in type(one).__module__
    ]
