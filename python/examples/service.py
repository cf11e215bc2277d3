"""A small web service that stores what it is POSTed through a proxy, and logs where each call's time went.

make -C ../bench stand                          # HAProxy before an origin; prints URL=
UPSTREAM=$URL python examples/service.py        # PORT=8000 unless set; 0 takes a free one
curl --data '{"item": "tea"}' http://127.0.0.1:8000/orders
"""

from __future__ import annotations

import http.server
import json
import os

import urllib3

import onewrite

UPSTREAM = os.environ["UPSTREAM"]


def log(record: onewrite.Record) -> None:
    print(json.dumps(record.to_dict()), flush=True)


http_out = onewrite.PoolManager(on_timing=log, maxsize=10)


class Orders(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # http.server writes an answer in two: without this its callers would stall

    def do_POST(self) -> None:
        order = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            stored = http_out.request("POST", UPSTREAM, body=order, headers={"Content-Type": "application/json"})
            status, answer = stored.status, stored.data
        except urllib3.exceptions.HTTPError as error:
            status, answer = 502, json.dumps({"error": type(error).__name__}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """The timing record is the log."""


if __name__ == "__main__":
    with http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Orders) as server:
        print(f"listening on http://127.0.0.1:{server.server_port}/orders", flush=True)
        server.serve_forever()
