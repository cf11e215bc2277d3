"""One request of the protocol, from message to reply."""

from __future__ import annotations

import threading
import time
import typing

import bodies
import failures
from clients import Ask, Client

Message = dict[str, typing.Any]


def run(client: Client, message: Message, start: threading.Barrier | None = None) -> Message:
    if message.get("cancel_after_ms") is not None:
        return {"skipped": "urllib3 has no way to cancel a request from outside"}
    body = bodies.make(message.get("body"))
    records = client.hooks.collect()
    reply: Message
    ask = Ask(
        message.get("method", "GET"),
        message["url"],
        [(name, value) for name, value in message.get("headers") or []],
        body,
        message["timeout_ms"] / 1000 if message.get("timeout_ms") else None,
        message.get("read", "all") == "all",
    )
    if start is not None:
        start.wait(10)
    started = time.monotonic_ns()
    try:
        answer = client.send(ask)
    except Exception as error:
        kind, phase = failures.classify(error)
        reply = {
            "outcome": "error",
            "error": {
                "kind": kind,
                "phase": phase,
                "type": type(error).__name__,
                "also": [parent.__name__ for parent in type(error).__mro__[1:-1]],
                "message": str(error),
            },
        }
    else:
        reply = {
            "outcome": "response",
            "status": answer.status,
            "headers": [list(item) for item in answer.headers],
            "body_bytes": None if answer.body is None else len(answer.body),
            "body_sha256": answer.digest(),
        }
    reply["elapsed_us"] = (time.monotonic_ns() - started) // 1000
    if body.close:
        body.close()
    if client.hooks.on:
        reply["records"] = records
        if reply["outcome"] == "error" and records:
            reply["error"]["kind"] = records[-1].get("error_kind") or reply["error"]["kind"]
            reply["error"]["phase"] = records[-1].get("error_phase") or reply["error"]["phase"]
    return reply
