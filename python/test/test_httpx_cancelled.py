"""A request cancelled at any of its awaits costs no more places of httpx's pool than in stock httpx.

httpcore 1.0.9 itself loses a place where a task is cancelled at some awaits. Each later request of a small pool then
ends in PoolTimeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import typing

import httpx
import pytest

import onewrite.httpx
from tap import Peer, Seen, reply


class Cancelled:
    """Awaits *coroutine*; cancels its task when what the *step*-th await waits for is done."""

    def __init__(self, coroutine: typing.Coroutine[typing.Any, typing.Any, typing.Any], step: int) -> None:
        self._coroutine = coroutine
        self._left = step

    @property
    def reached(self) -> bool:
        return self._left <= 0

    def __await__(self) -> typing.Generator[typing.Any, typing.Any, None]:
        steps = self._coroutine.__await__()
        resume: typing.Callable[[], typing.Any] = lambda: steps.send(None)  # noqa: E731
        while True:
            try:
                future = resume()
            except StopIteration:
                return
            self._left -= 1
            if self._left == 0:
                task: typing.Any = asyncio.current_task()
                if future is None:
                    task.cancel()
                else:
                    future.add_done_callback(lambda _, task=task: task.cancel())
            try:
                yield future
                resume = lambda: steps.send(None)  # noqa: E731
            except BaseException as error:
                resume = lambda error=error: steps.throw(error)  # type: ignore[misc]  # noqa: E731


async def cancelled_at(step: int, make: typing.Any, url: str, case: str) -> tuple[bool, bool]:
    """Return whether there was such an await, and whether the pool, of one connection, has lost it."""
    transport = make(limits=httpx.Limits(max_connections=1), trust_env=False, verify=False)
    async with httpx.AsyncClient(transport=transport, timeout=20) as http:

        async def streamed() -> None:
            async with http.stream("POST", url, content=b"x") as response:
                async for _ in response.aiter_raw(1):
                    await asyncio.sleep(0)

        if case != "fresh":
            await http.get(url)
        before = asyncio.create_task(http.get(url)) if case == "queued" else None
        await asyncio.sleep(0)
        cancelled = Cancelled(streamed() if case == "streamed" else http.post(url, content=b"x"), step)

        async def watched() -> None:
            await cancelled

        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.create_task(watched())
        if before is not None:
            await before
        try:
            await http.get(url, timeout=httpx.Timeout(20, pool=0.3))
        except httpx.PoolTimeout:
            return cancelled.reached, True
        return cancelled.reached, False


def lost(make: typing.Any, url: str, case: str, *, always: bool) -> list[int]:
    """The awaits at which a place is lost: always, or in one of three tries. It depends on the bytes at hand."""

    async def every() -> list[int]:
        found: list[int] = []
        step = 0
        reached = True
        while reached:
            step += 1
            reached, gone = await cancelled_at(step, make, url, case)
            for _ in range(2):
                if gone is always:
                    gone = (await cancelled_at(step, make, url, case))[1]
            if gone:
                found.append(step)
        assert step > 4
        return found

    return asyncio.run(every())


def hooked(**keywords: typing.Any) -> typing.Any:
    return onewrite.httpx.AsyncTransport(on_timing=lambda timing: None, **keywords)


@pytest.mark.drawn
@pytest.mark.filterwarnings("ignore:.*unclosed.*", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("case", ["fresh", "reused", "queued", "streamed"])
@pytest.mark.parametrize("make", [onewrite.httpx.AsyncTransport, hooked], ids=["plain", "hooked"])
def test_cancelling_costs_no_more_places_than_in_stock(make: typing.Any, case: str, tap: typing.Any) -> None:
    def answer(peer: Peer, seen: Seen) -> None:
        with contextlib.suppress(OSError):
            peer.send(reply(b"ok")[:-2])
            peer.send(b"ok")

    url = tap(answer).url()
    ours = lost(make, url, case, always=True)
    stock: set[int] = set()
    # On a busy machine head and body are read in one piece or in two, by chance: all that stock may lose is counted.
    for _ in range(5):
        stock.update(lost(httpx.AsyncHTTPTransport, url, case, always=False))
        if len(ours) <= len(stock):
            return
    pytest.fail(f"lost at {ours}, in stock at {sorted(stock)}")
