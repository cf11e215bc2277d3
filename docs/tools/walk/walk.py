"""Walks a POST on a kept connection, hooks off, through the Python adapter, and counts what a reader has to follow.

usage: python/.venv/bin/python docs/tools/walk/walk.py [--show]
Printed per way in: calls of the adapter's own functions, files that they are in, and returns: steps into a file that was
left before. Comprehensions are no calls.
"""

from __future__ import annotations

import http.server
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
OURS = str(ROOT / "python" / "src" / "onewrite") + "/"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    def log_message(self, *arguments: object) -> None:
        pass


def walked(post: Callable[[], Any]) -> list[tuple[str, str]]:
    """(file, function) of each call of the adapter in one POST, in order."""
    for _ in range(5):
        post()
    steps: list[tuple[str, str]] = []

    def note(frame: Any, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            if not frame.f_code.co_name.startswith("<"):
                steps.append((frame.f_code.co_filename.removeprefix(OURS), frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        post()
    finally:
        sys.setprofile(None)
    return steps


def told(name: str, steps: list[tuple[str, str]]) -> str:
    files = [file for file, _ in steps]
    returns = sum(1 for at in range(1, len(files)) if files[at] != files[at - 1] and files[at] in files[:at])
    return f"{name}: {len(steps)} calls, {len(set(files))} files, {returns} returns"


def main() -> None:
    import onewrite
    import urllib3

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    own = onewrite.PoolManager()
    ways = [("python, own classes", walked(lambda: own.request("POST", url, body=b"x" * 200)))]
    onewrite.install()
    stock = urllib3.PoolManager()
    ways.append(("python, install()", walked(lambda: stock.request("POST", url, body=b"x" * 200))))
    for name, steps in ways:
        print(told(name, steps))
        if "--show" in sys.argv:
            print(*(f"  {file}: {function}" for file, function in steps), sep="\n")
    server.shutdown()


if __name__ == "__main__":
    main()
