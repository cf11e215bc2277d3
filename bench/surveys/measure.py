"""Interleaved measurement of one port in all client modes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onewrite_lab.stall import STALL_MS, control_stalls, says_nothing

from post import MODES, Client, Mode

__all__ = ["WARM_UP", "Sample", "measure"]

WARM_UP = 16  # a new connection acknowledges at once for a while: it must leave quick-ACK mode first


@dataclass(frozen=True)
class Sample:
    """What one client saw. `segments` is the mode of data segments per request, None where the kernel does not tell."""

    times_ms: tuple[float, ...]
    segments: int | None

    @property
    def p50_ms(self) -> float:
        return statistics.median(self.times_ms)

    @property
    def stalled(self) -> int:
        return sum(time > STALL_MS for time in self.times_ms)

    @property
    def stalls(self) -> bool:
        """Whether this client, as a control, stalled."""
        return control_stalls(self.stalled / len(self.times_ms))

    @property
    def noisy(self) -> bool:
        """Whether this client, which cannot stall, was late so often that the run says nothing."""
        return says_nothing(self.stalled / len(self.times_ms))


def measure(
    port: int, *, authority: Path | None = None, requests: int = 40, size: int = 200, modes: Sequence[Mode] = MODES
) -> dict[str, Sample]:
    """One connection per mode, a request on each in turn, so that all modes meet the same moments of the machine."""
    clients = [Client(port, mode, size=size, authority=authority) for mode in modes]
    times: list[list[float]] = [[] for _ in clients]
    segments: list[list[int]] = [[] for _ in clients]
    try:
        for turn in range(WARM_UP + requests):
            for index, client in enumerate(clients):
                before = client.segments()
                elapsed_ms = client.post()
                after = client.segments()
                if turn >= WARM_UP:
                    times[index].append(elapsed_ms)
                    if before is not None and after is not None:
                        segments[index].append(after - before)
    finally:
        for client in clients:
            client.close()
    return {
        client.mode.name: Sample(tuple(times[index]), statistics.mode(segments[index]) if segments[index] else None)
        for index, client in enumerate(clients)
    }
