"""One scenario in a process of its own: a tool, a way to onewrite, an order, hooks or none. Prints JSON.

usage: scenario.py TOOL stock|installed|own tool-first|onewrite-first hooks|plain URL DEAD-URL

- ``installed``: ``install()``, with urllib3's PoolManager and requests' Session;
- ``own``: ``onewrite.PoolManager`` and a Session with ``onewrite.requests.Adapter``;
- ``tool-first``: the tool has patched before onewrite is imported, and the clients come last;
- ``onewrite-first``: onewrite is there, and each client has a warm connection, when the tool comes.
"""

from __future__ import annotations

import json
import sys
import typing

from tools import ANSWER, TOOLS

BODY = b"x" * 200
#: Calls over which the number of segments is judged.
JUDGED = 20

tool_name, way, order, hooked, url, dead = sys.argv[1:]
tool = TOOLS[tool_name](url)
timings: list[typing.Any] = []
hooks = {"on_timing": timings.append} if hooked == "hooks" else {}


def begin_onewrite() -> None:
    """Import onewrite and install() it, if the scenario says so."""
    if way == "stock":
        return
    import onewrite

    if way == "installed":
        onewrite.install(**hooks)


def with_urllib3() -> typing.Callable[..., tuple[typing.Any, ...]]:
    """A client: (method, url, body) → what the caller sees."""
    import urllib3

    if way == "own":
        import onewrite

        manager: typing.Any = onewrite.PoolManager(**hooks)
    else:
        manager = urllib3.PoolManager()

    def call(method: str, target: str, body: typing.Any = None) -> tuple[typing.Any, ...]:
        response = manager.request(method, target, body=body, retries=urllib3.Retry(1, redirect=2, backoff_factor=0))
        return response.status, response.data.decode(), response.headers.get("Content-Type")

    return call


def with_requests() -> typing.Callable[..., tuple[typing.Any, ...]]:
    """The same through requests."""
    import requests

    session = requests.Session()
    session.trust_env = False
    if way == "own":
        import onewrite.requests

        session.mount("http://", onewrite.requests.Adapter(**hooks))

    def call(method: str, target: str, body: typing.Any = None) -> tuple[typing.Any, ...]:
        response = session.request(method, target, data=body)
        return response.status_code, response.text, response.headers.get("Content-Type")

    return call


def chain(error: BaseException | None) -> str:
    """An error's class and the classes of what it was made of."""
    names = []
    while error is not None:
        names.append(type(error).__name__)
        error = getattr(error, "reason", None) if isinstance(getattr(error, "reason", None), Exception) else None
    return " < ".join(names)


def wire() -> list[tuple[typing.Any, ...]]:
    """The requests of the program."""
    return [("POST", url + "/judged", BODY)] * JUDGED + [
        ("POST", url + "/text", "tea"),
        ("GET", url + "/get"),
        ("HEAD", url + "/head"),
        ("DELETE", url + "/missing"),
        ("GET", url + "/redirect"),
        ("POST", url + "/chunked", iter([b"one", b"two"])),
        ("GET", dead + "/dead"),
    ]


def seen(call: typing.Callable[..., tuple[typing.Any, ...]], wanted: list[tuple[typing.Any, ...]]) -> list[typing.Any]:
    """Answers and errors of the calls."""
    came = []
    for one in wanted:
        try:
            came.append(call(*one))
        except Exception as error:
            came.append([chain(error), one[1].rpartition("/")[2]])
    return came


def main() -> None:
    """Play the scenario."""
    makers = {"urllib3": with_urllib3, "requests": with_requests}
    if order == "tool-first":
        tool.start()
        begin_onewrite()
        clients = {name: makers[name]() for name in tool.clients}
    else:
        begin_onewrite()
        clients = {name: makers[name]() for name in tool.clients}
        for call in clients.values():
            call("POST", url + "/warm", BODY)
        tool.start()
    results = {}
    for name, call in clients.items():
        timings.clear()
        with tool.under():
            mocked = [("POST", tool.mocked, BODY)] * 3 if tool.mocks else []
            results[name] = {"seen": seen(call, mocked + (wire() if tool.passes else []))}
        results[name]["timings"] = [f"{timing.method} {timing.outcome} {timing.status}" for timing in timings]
    spans = tool.spans()
    if tool.mocks:
        tool.stop()
        if order == "tool-first" and way == "installed":
            import onewrite

            onewrite.install()  # the tool put back what it had found, and some of install() went with it
        for name, call in clients.items():
            timings.clear()
            results[name]["afterwards"] = seen(call, wire())
            results[name]["timings"] = [f"{timing.method} {timing.outcome} {timing.status}" for timing in timings]
    answered = sum(ANSWER in str(one) for result in results.values() for one in result["seen"])
    told = {"results": results, "ids": [one for one, _ in spans], "spans": [what for _, what in spans]}
    failures = sys.modules["onewrite"].status()["hook_errors"] if way != "stock" else 0
    print("\n" + json.dumps({**told, "mocked": answered, "hook failures": failures}))


main()
