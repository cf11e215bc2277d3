"""Python clients as people use them, for the scenario stock-libraries. usage: program.py NAME [--cured]

Prints one JSON line: name, version, runtime. Then, for each line `URL COUNT` on standard input, it makes that
number of POSTs and prints one JSON line: the time of each in microseconds. `--cured` calls onewrite's install() first.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from functools import cache
from importlib.metadata import version

Post = Callable[[], object]


def sentry(url: str) -> Post:
    import sentry_sdk
    from sentry_sdk.envelope import Envelope

    dsn = url.replace("http://", "http://key@") + "1"
    client = sentry_sdk.Client(dsn=dsn, keep_alive=True, default_integrations=False, auto_enabling_integrations=False)
    transport = client.transport
    assert transport is not None

    def send() -> None:
        envelope = Envelope()
        envelope.add_session({"sid": "1" * 32, "status": "ok"})
        transport.capture_envelope(envelope)
        transport.flush(5)

    return send


def openai(url: str) -> Post:
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="key", max_retries=0)
    return lambda: client.post("/chat/completions", cast_to=object, body={"model": "m", "prompt": "x" * 150})


def botocore(url: str) -> Post:
    import botocore.session

    session = botocore.session.get_session()
    session.set_credentials("key", "secret")
    client = session.create_client("dynamodb", region_name="us-east-1", endpoint_url=url)
    return lambda: client.put_item(TableName="t", Item={"id": {"S": "x" * 100}})


NAMES: dict[str, tuple[str, Callable[[str], Post]]] = {
    "sentry": ("sentry-sdk", sentry),
    "openai": ("openai", openai),
    "botocore": ("botocore", botocore),
}


def main() -> None:
    name = sys.argv[1]
    if "--cured" in sys.argv:
        if name == "openai":
            import onewrite.httpx as cure
        else:
            import onewrite as cure
        cure.install()
    library, make = NAMES[name]
    made = cache(make)
    runtime = f"CPython {platform.python_version()}"
    print(json.dumps({"name": library, "version": version(library), "runtime": runtime}), flush=True)
    for line in sys.stdin:
        url, count = line.split()
        post = made(url)
        times = []
        for _ in range(int(count)):
            started = time.perf_counter_ns()
            post()
            times.append((time.perf_counter_ns() - started) // 1000)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
