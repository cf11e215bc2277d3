"""An HTTP client with every fault there is, to be run as the command under test.

usage: client.py FAULTS URL [--requests N] [--body N]      FAULTS: words of the list below, joined by commas
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

FAULTS = {
    "split": "head and body in two writes",
    "nagle": "TCP_NODELAY off",
    "fresh": "a new connection per request",
    "slow": "50 ms between head and body, of its own",
    "fail": "ends with status 7",
    "parallel": "three connections at the same time",
    "get": "GET, no body",
    "until-close": "reads until the server closes",
    "http1.0": "says HTTP/1.0",
    "close": "says Connection: close",
    "forever": "never ends",
    "large": "a body that fits no record",
    "proxy": "follows HTTP_PROXY",
    "none": "nothing wrong",
}


class Client:
    def __init__(self, faults: set[str], url: str, body: int) -> None:
        self.faults = faults
        self.url = urlsplit(url)
        self.body = b"" if "get" in faults else b"x" * (200_000 if "large" in faults else body)
        self.sock: socket.socket | None = None

    def connect(self) -> socket.socket:
        where = urlsplit(os.environ["HTTP_PROXY"]) if "proxy" in self.faults else self.url
        sock = socket.create_connection((where.hostname or "", where.port or 80), timeout=10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, "nagle" not in self.faults)
        if self.url.scheme == "https":
            import ssl  # most runs start without it

            context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
            sock = context.wrap_socket(sock, server_hostname=self.url.hostname)
        return sock

    def once(self, number: int) -> None:
        if self.sock is None or "fresh" in self.faults:
            if self.sock is not None:
                self.sock.close()
            self.sock = self.connect()
        method = "GET" if "get" in self.faults else "POST"
        target = f"http://{self.url.netloc}/{number}" if "proxy" in self.faults else f"/{number}"
        version = "1.0" if "http1.0" in self.faults else "1.1"
        lines = [f"{method} {target} HTTP/{version}", f"Host: {self.url.netloc}", f"Content-Length: {len(self.body)}"]
        lines += ["Connection: close"] if "close" in self.faults else []
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        if "split" in self.faults or "slow" in self.faults:
            self.sock.sendall(head)
            if "slow" in self.faults:
                time.sleep(0.05)
            self.sock.sendall(self.body)
        else:
            self.sock.sendall(head + self.body)
        answer = b""
        while "until-close" in self.faults or b"\r\n\r\n" not in answer or not answer.endswith(b"ok\n"):
            piece = self.sock.recv(65536)
            if not piece and "until-close" in self.faults:
                self.sock = None
                break
            if not piece:
                raise ConnectionResetError
            answer += piece

    def run(self, requests: int) -> None:
        for number in range(requests):
            self.once(number)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("faults")
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--body", type=int, default=200)
    options = parser.parse_args()
    faults = set(options.faults.split(","))
    if unknown := faults - set(FAULTS):
        parser.error(f"no such fault: {unknown}")
    clients = [Client(faults, options.url, options.body) for _ in range(3 if "parallel" in faults else 1)]
    threads = [threading.Thread(target=client.run, args=(options.requests // len(clients),)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("done, whatever the tests print", flush=True)
    if "forever" in faults:
        threading.Event().wait()
    return 7 if "fail" in faults else 0


if __name__ == "__main__":
    sys.exit(main())
