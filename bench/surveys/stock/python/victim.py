"""Python clients as people use them. usage: victim.py NAME URL COUNT [--cured]

Prints one JSON line: the version, and what each POST took in ms, warm-up left out. `--cured` first calls install().
A proxy, where the name asks for one, is taken from HTTP_PROXY / HTTPS_PROXY, as the libraries do.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

BODY = b"x" * 200
WARM_UP = 16


def requests_session(url: str) -> Callable[[], object]:
    import requests

    session = requests.Session()
    verify = os.environ.get("SSL_CERT_FILE", True)
    return lambda: session.post(url, data=BODY, verify=verify).raise_for_status()


def urllib3_socket_options(url: str) -> Callable[[], object]:
    import urllib3

    pool = urllib3.PoolManager(socket_options=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)])
    return lambda: pool.request("POST", url, body=BODY)


def urllib3_default(url: str) -> Callable[[], object]:
    import urllib3

    pool = urllib3.PoolManager()
    return lambda: pool.request("POST", url, body=BODY)


def sentry(url: str) -> Callable[[], object]:
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


def httpx_client(url: str) -> Callable[[], object]:
    import httpx

    client = httpx.Client()
    return lambda: client.post(url, content=BODY).raise_for_status()


def httpx_form(url: str) -> Callable[[], object]:
    import httpx

    client = httpx.Client()
    return lambda: client.post(url, data={"name": "tea"}, files={"file": ("name", BODY)}).raise_for_status()


def openai_client(url: str) -> Callable[[], object]:
    import openai

    client = openai.OpenAI(base_url=url, api_key="key", max_retries=0)
    return lambda: client.post("/chat/completions", cast_to=object, body={"model": "m", "prompt": "x" * 150})


def dynamodb(url: str) -> Callable[[], object]:
    import botocore.session

    session = botocore.session.get_session()
    session.set_credentials("key", "secret")
    client = session.create_client("dynamodb", region_name="us-east-1", endpoint_url=url)
    return lambda: client.put_item(TableName="t", Item={"id": {"S": "x" * 100}})


NAMES: dict[str, tuple[str, Callable[[str], Callable[[], object]]]] = {
    "requests": ("requests", requests_session),
    "urllib3": ("urllib3", urllib3_default),
    "urllib3-socket-options": ("urllib3", urllib3_socket_options),
    "sentry": ("sentry-sdk", sentry),
    "httpx": ("httpx", httpx_client),
    "httpx-form": ("httpx", httpx_form),
    "openai": ("openai", openai_client),
    "botocore": ("botocore", dynamodb),
}


def main() -> None:
    name, url, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if "--cured" in sys.argv[4:]:
        if name in ("httpx", "httpx-form", "openai"):
            import onewrite.httpx as cure
        else:
            import onewrite as cure
        cure.install()
    distribution, make = NAMES[name]
    post = make(url)
    times_ms = []
    for _ in range(WARM_UP + count):
        started = time.perf_counter()
        post()
        times_ms.append((time.perf_counter() - started) * 1000)
    print(json.dumps({"version": version(distribution), "times_ms": times_ms[WARM_UP:]}))


if __name__ == "__main__":
    main()
