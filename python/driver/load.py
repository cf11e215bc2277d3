"""Load: the same request again and again, closed or open loop, on keep-alive connections."""

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
        self.service: list[float] = []
        self.errors = 0
        self.error_sample: str | None = None
        self.phases: dict[str, list[float]] = {"wait_us": [], "send_us": []}

    def add(self, latency: float, service: float) -> None:
        with self.lock:
            self.latencies.append(latency)
            self.service.append(service)

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

    def send() -> None:
        body = bodies.make(spec)
        answer = client.send(Ask(method, url, [], body))
        if body.close:
            body.close()
        if answer.status != expected if expected else not 200 <= answer.status < 300:
            raise UnexpectedStatusError(f"status {answer.status}")

    _in_threads(connections, int(message.get("warmup") or 0), None, lambda due: send(), _Tally())

    tally = _Tally()
    started = time.monotonic_ns()
    count = message.get("count")
    seconds = message.get("seconds")
    ends = None if seconds is None else started + int(seconds * 1e9)

    def measured(due: int | None) -> None:
        collected = client.hooks.collect() if client.hooks.on else None
        before = time.monotonic_ns()
        send()
        after = time.monotonic_ns()
        tally.add((after - (before if due is None else due)) / 1000, (after - before) / 1000)
        for timing in collected.timings if collected else ():
            with tally.lock:
                for phase in ("wait", "send"):
                    if timing.get(f"{phase}_ns") is not None:
                        tally.phases[f"{phase}_us"].append(timing[f"{phase}_ns"] / 1000)

    rate = float(message.get("rate") or 100) if message.get("mode") == "open" else None
    total = None if count is None else int(count)
    if total is None and ends is None:
        total = 100
    if rate is not None and total is None and seconds is not None:
        total = int(rate * seconds)
    _in_threads(connections, total, ends if rate is None else None, measured, tally, rate, started)
    reply: Message = {
        "latencies_us": [round(value, 1) for value in tally.latencies],
        "service_us": [round(value, 1) for value in tally.service],
        "errors": tally.errors,
        "error_sample": tally.error_sample,
        "started_mono_ns": started,
        "ended_mono_ns": time.monotonic_ns(),
    }
    if client.hooks.on:
        reply["phases"] = {name: [round(value, 1) for value in values] for name, values in tally.phases.items()}
    return reply


def _in_threads(
    threads: int,
    total: int | None,
    ends: int | None,
    send: typing.Callable[[int | None], None],
    tally: _Tally,
    rate: float | None = None,
    started: int = 0,
) -> None:
    """Share *total* requests among *threads* callers, or go on until *ends*."""
    if total == 0:
        return
    lock = threading.Lock()
    taken = 0

    def take() -> int | None:
        nonlocal taken
        if ends is not None and time.monotonic_ns() >= ends:
            return None
        with lock:
            if total is not None and taken >= total:
                return None
            taken += 1
            return taken - 1

    def caller() -> None:
        while (index := take()) is not None:
            due = None
            if rate is not None:
                due = started + int(index * 1e9 / rate)
                wait = (due - time.monotonic_ns()) / 1e9
                if wait > 0:
                    time.sleep(wait)
            try:
                send(due)
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
