"""Load: the same request again and again on keep-alive connections; each caller waits for its answer."""

from __future__ import annotations

import threading
import time
import typing

import bodies
from clients import Ask, Client

Message = dict[str, typing.Any]


class UnexpectedStatusError(Exception):
    """The request was answered, and not with the status that counts as success."""


class _Tally:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.latencies: list[float] = []
        self.errors = 0
        self.error_sample: str | None = None

    def add(self, latency: float) -> None:
        with self.lock:
            self.latencies.append(latency)

    def fail(self, error: Exception) -> None:
        with self.lock:
            self.errors += 1
            named = str(error) if isinstance(error, UnexpectedStatusError) else f"{type(error).__name__}: {error}"
            self.error_sample = self.error_sample or named


def run(client: Client, message: Message) -> Message:
    connections = int(message.get("connections") or 1)
    if connections > client.size:
        return {"skipped": f"the client was opened with pool_size {client.size}: {connections} connections need more"}
    method = message.get("method", "POST")
    url = message["url"]
    spec = message.get("body")
    expected = message.get("expect")
    tally = _Tally()

    def send() -> None:
        if client.hooks.on:
            client.hooks.collect()
        before = time.monotonic_ns()
        body = bodies.make(spec)
        answer = client.send(Ask(method, url, [], body))
        if body.close:
            body.close()
        if answer.status != expected if expected else not 200 <= answer.status < 300:
            raise UnexpectedStatusError(f"status {answer.status}")
        tally.add((time.monotonic_ns() - before) / 1000)

    seconds = message.get("seconds")
    ends = None if seconds is None else time.monotonic_ns() + int(seconds * 1e9)
    count = message.get("count")
    total = int(count) if count is not None else 100 if ends is None else None
    _in_threads(connections, total, ends, send, tally)
    return {
        "latencies_us": [round(value, 1) for value in tally.latencies],
        "errors": tally.errors,
        "error_sample": tally.error_sample,
    }


def _in_threads(
    threads: int, total: int | None, ends: int | None, send: typing.Callable[[], None], tally: _Tally
) -> None:
    """Share *total* requests among *threads* callers, or go on until *ends*."""
    lock = threading.Lock()
    taken = 0

    def take() -> bool:
        nonlocal taken
        if ends is not None and time.monotonic_ns() >= ends:
            return False
        with lock:
            taken += 1
            return total is None or taken <= total

    def caller() -> None:
        while take():
            try:
                send()
            except Exception as error:
                tally.fail(error)

    if threads == 1:
        caller()
        return
    running = [threading.Thread(target=caller, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
