"""POSTs to a URL and prints where the time went: ``python examples/post.py http://127.0.0.1:8080/``."""

from __future__ import annotations

import sys

import onewrite


def main(url: str) -> int:
    http = onewrite.PoolManager(on_timing=print)
    statuses = [http.request("POST", url, body=b'{"hello": "world"}').status for _ in range(2)]
    return 0 if max(statuses) < 400 else 1  # the second request found the connection of the first


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080/"))
