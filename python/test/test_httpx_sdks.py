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

ROUNDS = 8
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


KINDS: dict[tuple[typing.Any, bool], typing.Any] = {
    (openai, False): openai.OpenAI,
    (openai, True): openai.AsyncOpenAI,
    (anthropic, False): anthropic.Anthropic,
    (anthropic, True): anthropic.AsyncAnthropic,
}


class Sdk:
    """One vendor's, over httpx2: own transports, or what the SDK makes itself under install()."""

    def __init__(self, vendor: typing.Any, asynchronous: bool, own: bool, server: Server) -> None:
        self.vendor = vendor
        self.timings: list[onewrite.Timing] = []
        hooks: dict[str, typing.Any] = {"on_timing": self.timings.append}
        http: typing.Any = None
        if not own:
            onewrite.httpx2.install(**hooks)
        elif asynchronous:
            http = httpx2.AsyncClient(transport=onewrite.httpx2.AsyncTransport(**hooks))
        else:
            http = httpx2.Client(transport=onewrite.httpx2.Transport(**hooks))
        base = server.tap.url("/v1" if vendor is openai else "")
        self.client = KINDS[vendor, asynchronous](base_url=base, api_key="key", max_retries=0, http_client=http)

    def create(self, **more: typing.Any) -> typing.Any:
        if self.vendor is openai:
            return self.client.chat.completions.create(model="m", messages=MESSAGES, **more)
        return self.client.messages.create(model="m", messages=MESSAGES, max_tokens=10, **more)

    def said(self, answer: typing.Any) -> str:
        return str(answer.choices[0].message.content if self.vendor is openai else answer.content[0].text)

    def word(self, event: typing.Any) -> str | None:
        if self.vendor is openai:
            return typing.cast("str | None", event.choices[0].delta.content)
        return typing.cast("str | None", event.delta.text) if event.type == "content_block_delta" else None


@pytest.mark.parametrize("own", [False, True], ids=["installed", "own"])
@pytest.mark.parametrize(("vendor", "asynchronous"), KINDS)
def test_an_sdk_sends_one_segment_and_streams_without_delay(
    vendor: typing.Any, asynchronous: bool, own: bool, tap: typing.Any
) -> None:
    server = Server(tap)
    sdk = Sdk(vendor, asynchronous, own, server)
    answers, words = [], []

    def got(event: typing.Any) -> None:
        if found := sdk.word(event):
            words.append(found)
            server.go_on.release()

    def blocking() -> None:
        with sdk.client:
            answers.extend(sdk.said(sdk.create()) for _ in range(ROUNDS))
            for event in sdk.create(stream=True):
                got(event)

    async def awaiting() -> None:
        async with sdk.client:
            for _ in range(ROUNDS):
                answers.append(sdk.said(await sdk.create()))  # noqa: PERF401
            async for event in await sdk.create(stream=True):
                got(event)

    if asynchronous:
        asyncio.run(awaiting())
    else:
        blocking()
    assert answers == ["".join(WORDS)] * ROUNDS
    assert words == WORDS
    assert mode(one.segments for one in server.tap.seen) == 1
    assert server.tap.connections == 1
    assert [timing.outcome for timing in sdk.timings] == ["ok"] * (ROUNDS + 1)
    assert sdk.timings[-1].wait_ns
