"""One client in a process of its own: for each count read from stdin, that many requests; their times to stdout.

usage: worker.py NUMBER URL    NUMBER: which of clients.CLIENTS
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import inspect
import json
import sys
import time
import typing

from clients import CLIENTS


def versions(packages: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)


def say(**fields: typing.Any) -> None:
    print(json.dumps(fields), flush=True)


def counts() -> typing.Iterator[tuple[int, list[int]]]:
    """Each number on stdin, with a list for as many latencies; prints these and the processor time."""
    for line in sys.stdin:
        taken: list[int] = []
        gc.collect()
        worked = time.process_time_ns()
        yield int(line), taken
        say(ns=taken, cpu=time.process_time_ns() - worked)


def sync(send: typing.Callable[[], object]) -> None:
    clock = time.perf_counter_ns
    for count, taken in counts():
        for _ in range(count):
            began = clock()
            send()
            taken.append(clock() - began)


async def asynchronous(send: typing.Callable[[], typing.Awaitable[object]]) -> None:
    clock = time.perf_counter_ns
    for count, taken in counts():
        for _ in range(count):
            began = clock()
            await send()
            taken.append(clock() - began)


def main() -> None:
    client = CLIENTS[int(sys.argv[1])]
    try:
        send = client.make(sys.argv[2])
        say(versions=versions(client.packages))
    except ImportError as error:
        say(missing=str(error))
        return
    if inspect.iscoroutinefunction(send):
        asyncio.run(asynchronous(send))
    else:
        sync(send)


if __name__ == "__main__":
    main()
