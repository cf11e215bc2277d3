"""The SDKs of openai and anthropic over httpx2: one segment per request, streams without delay."""

from __future__ import annotations

import asyncio
import json
import threading
import typing

import anthropic
import httpx2
import openai
import pytest

import onewrite
import onewrite.httpx2
from tap import Peer, Seen, Tap, mode, reply

ROUNDS = 20
MESSAGES: typing.Any = [{"role": "user", "content": "Say this is a test."}]
WORDS = ["One", " write", " per", " request", "."]


def chat(content: str | None, final: bool = False) -> dict[str, typing.Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": "stop" if final else None}],
    }


COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "".join(WORDS)}, "finish_reason": "stop"}],
}
MESSAGE: dict[str, typing.Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "".join(WORDS)}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def events_of(path: str) -> list[str]:
    """The server-sent events of a stream, one for each word among them."""
    if path.endswith("/chat/completions"):
        return [f"data: {json.dumps(chat(word))}\n\n" for word in WORDS] + ["data: [DONE]\n\n"]
    start = {**MESSAGE, "content": [], "stop_reason": None}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": w}} for w in WORDS]
    first = [{"type": "message_start", "message": start}, block]
    last = [{"type": "content_block_stop", "index": 0}, {"type": "message_stop"}]
    as_text = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in [*first, *deltas, *last]]
    return ["".join(as_text[:2]) + as_text[2], *as_text[3:-2], "".join(as_text[-2:])]


class Server:
    """Answers as both vendors do. It sends the next event of a stream only when the reader has got the one before."""

    def __init__(self, tap: typing.Any) -> None:
        self.go_on = threading.Semaphore(0)
        self.tap: Tap = tap(self.answer)

    def answer(self, peer: Peer, seen: Seen) -> None:
        path = seen.line.split(" ")[1]
        if not json.loads(seen.body).get("stream"):
            body = json.dumps(COMPLETION if path.endswith("/chat/completions") else MESSAGE).encode()
            peer.send(reply(body, "200 OK", "Content-Type: application/json"))
            return
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for index, event in enumerate(events_of(path)):
            if index:
                assert self.go_on.acquire(timeout=30), "the reader has not got the event before"
            peer.send(b"%x\r\n%b\r\n" % (len(event), event.encode()))
        peer.send(b"0\r\n\r\n")


@pytest.fixture
def server(tap: typing.Any) -> Server:
    return Server(tap)


@pytest.fixture(params=["own", "installed", "stock"])
def how(request: pytest.FixtureRequest) -> typing.Iterator[str]:
    if request.param == "installed":
        onewrite.httpx2.install(on_timing=timings.append)
    timings.clear()
    yield request.param
    onewrite.httpx2.uninstall()


timings: list[onewrite.Timing] = []


def client_for(how: str, asynchronous: bool) -> typing.Any:
    if how != "own":
        return None
    if asynchronous:
        return httpx2.AsyncClient(transport=onewrite.httpx2.AsyncTransport(on_timing=timings.append))
    return httpx2.Client(transport=onewrite.httpx2.Transport(on_timing=timings.append))


def made(vendor: typing.Any, server: Server, how: str, asynchronous: bool) -> typing.Any:
    kind = {
        (openai, False): openai.OpenAI,
        (openai, True): openai.AsyncOpenAI,
        (anthropic, False): anthropic.Anthropic,
        (anthropic, True): anthropic.AsyncAnthropic,
    }[vendor, asynchronous]
    base = server.tap.url("/v1" if vendor is openai else "")
    return kind(base_url=base, api_key="key", max_retries=0, http_client=client_for(how, asynchronous))


def create(sdk: typing.Any, vendor: typing.Any, **more: typing.Any) -> typing.Any:
    if vendor is openai:
        return sdk.chat.completions.create(model="m", messages=MESSAGES, **more)
    return sdk.messages.create(model="m", messages=MESSAGES, max_tokens=10, **more)


def said(answer: typing.Any, vendor: typing.Any) -> str:
    text = answer.choices[0].message.content if vendor is openai else answer.content[0].text
    return typing.cast(str, text)


def word(event: typing.Any, vendor: typing.Any) -> str | None:
    if vendor is openai:
        return typing.cast("str | None", event.choices[0].delta.content)
    return typing.cast("str | None", event.delta.text) if event.type == "content_block_delta" else None


def judge(server: Server, how: str, calls: int) -> None:
    segments = mode(one.segments for one in server.tap.seen)
    assert segments == (2 if how == "stock" else 1)
    assert server.tap.connections == 1
    assert len(timings) == (0 if how == "stock" else calls)
    assert {timing.outcome for timing in timings} <= {"ok"}


VENDORS = pytest.mark.parametrize("vendor", [openai, anthropic], ids=["openai", "anthropic"])


@VENDORS
def test_a_blocking_sdk_sends_one_segment_and_streams_without_delay(
    vendor: typing.Any, how: str, server: Server
) -> None:
    with made(vendor, server, how, False) as sdk:
        for _ in range(ROUNDS):
            assert said(create(sdk, vendor), vendor) == "".join(WORDS)
        words = []
        for event in create(sdk, vendor, stream=True):
            if found := word(event, vendor):
                words.append(found)
                server.go_on.release()
    assert words == WORDS
    judge(server, how, ROUNDS + 1)


@VENDORS
def test_an_asynchronous_sdk_sends_one_segment_and_streams_without_delay(
    vendor: typing.Any, how: str, server: Server
) -> None:
    words: list[str] = []

    async def main() -> None:
        async with made(vendor, server, how, True) as sdk:
            for _ in range(ROUNDS):
                assert said(await create(sdk, vendor), vendor) == "".join(WORDS)
            async for event in await create(sdk, vendor, stream=True):
                if found := word(event, vendor):
                    words.append(found)
                    server.go_on.release()

    asyncio.run(main())
    assert words == WORDS
    judge(server, how, ROUNDS + 1)
    if timings:
        stream = timings[-1]
        assert stream.wait_ns
        assert stream.receive_ns
