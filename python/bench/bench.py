"""One interleaved run on loopback: 200-byte POSTs on a keep-alive connection, stock urllib3 beside onewrite.

Prints p50, requests per second and their ratios to stock. Rounds take turns, so that a change of the
machine's load meets all of them. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import typing

import urllib3

import onewrite

ORIGIN = """
import socket, threading
ANSWER = (b"HTTP/1.1 200 OK\\r\\nServer: bench\\r\\nDate: Thu, 01 Jan 2026 00:00:00 GMT\\r\\n"
          b"Content-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
def serve(sock):
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while received := sock.recv(65536):
        data += received
        while b"\\r\\n\\r\\n" in data:
            head, _, rest = data.partition(b"\\r\\n\\r\\n")
            at = head.lower().find(b"content-length:")
            size = int(head[at + 15:].split(b"\\r\\n")[0])
            if len(rest) < size:
                break
            data = rest[size:]
            sock.sendall(ANSWER)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

BODY = b"x" * 200
HEADERS = {"Content-Type": "application/json"}
Send = typing.Callable[[], object]


def clients(url: str) -> dict[str, Send]:
    count = [0]

    def counted(timing: onewrite.Timing) -> None:
        count[0] += 1

    def over(manager: typing.Any) -> Send:
        return lambda: manager.request("POST", url, body=BODY, headers=HEADERS)

    found: dict[str, Send] = {
        "urllib3": over(urllib3.PoolManager()),
        "onewrite": over(onewrite.PoolManager()),
        "onewrite, on_timing": over(onewrite.PoolManager(on_timing=counted)),
    }
    found["urllib3, install()"] = _installed(over(urllib3.PoolManager()))
    try:
        import requests

        session = requests.Session()
        found["requests"] = lambda: session.post(url, data=BODY, headers=HEADERS)
    except ImportError:
        pass
    try:
        import httpx

        client = httpx.Client()
        found["httpx"] = lambda: client.post(url, content=BODY, headers=HEADERS)
    except ImportError:
        pass
    return found


class _Installed:
    """Marks a client whose rounds run under install()."""

    def __init__(self, send: Send) -> None:
        self.send = send

    def __call__(self) -> object:
        return self.send()


_installed = _Installed


def one_round(send: Send, count: int) -> list[int]:
    if isinstance(send, _Installed):
        onewrite.install()
        send = send.send
    try:
        taken = []
        for _ in range(count):
            began = time.perf_counter_ns()
            send()
            taken.append(time.perf_counter_ns() - began)
        return taken
    finally:
        onewrite.uninstall()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--requests", type=int, default=200, help="requests per round")
    parser.add_argument("--url", help="a server that answers at once (default: one of our own)")
    arguments = parser.parse_args()
    origin = None
    url = arguments.url
    if url is None:
        origin = subprocess.Popen([sys.executable, "-c", ORIGIN], stdout=subprocess.PIPE, text=True)
        assert origin.stdout is not None
        url = f"http://127.0.0.1:{int(origin.stdout.readline())}/a/b?c=d"
    measured: dict[str, list[list[int]]] = {}
    sends = clients(url)
    for send in sends.values():
        one_round(send, 50)
    for _ in range(arguments.rounds):
        for name, send in sends.items():
            measured.setdefault(name, []).append(one_round(send, arguments.requests))
    if origin is not None:
        origin.kill()
    # Medians over rounds: a round in which the machine did something else does not decide.
    p50 = {
        name: statistics.median(statistics.median(one) for one in rounds) / 1000 for name, rounds in measured.items()
    }
    rate = {name: statistics.median(len(one) / sum(one) * 1e9 for one in rounds) for name, rounds in measured.items()}
    versions = f"urllib3 {urllib3.__version__}, CPython {sys.version.split()[0]}"  # type: ignore[attr-defined]
    print(f"{versions}; {arguments.rounds} rounds of {arguments.requests} requests, 200-byte POSTs to {url}\n")
    print(f"{'client':<22} {'p50 us':>8} {'req/s':>8} {'p50 x':>7} {'req/s x':>8}")
    for name in measured:
        relative = p50[name] / p50["urllib3"], rate[name] / rate["urllib3"]
        print(f"{name:<22} {p50[name]:>8.1f} {rate[name]:>8.0f} {relative[0]:>7.2f} {relative[1]:>8.2f}")


if __name__ == "__main__":
    main()
