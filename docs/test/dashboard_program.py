"""A program whose HTTP clients do everything that the dashboard shows, with metrics for Prometheus on a port of loopback.

usage: dashboard_program.py WELL STALLED SLOW REFUSED      URLs; prints the port, and runs until its input ends
"""

from __future__ import annotations

import contextlib
import select
import socket
import sys

import onewrite
import onewrite.opentelemetry
import prometheus_client
import urllib3
from opentelemetry import metrics
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider

well, stalled, slow, refused = sys.argv[1:]
metrics.set_meter_provider(MeterProvider([PrometheusMetricReader()]))
onewrite.opentelemetry.instrument()

http = urllib3.PoolManager(retries=False)
# Joining off and Nagle on: what onewrite is there to prevent.
nagle = onewrite.PoolManager(
    retries=False,
    coalesce_disabled=True,
    socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)],
)


def pieces() -> list[bytes]:
    return [b"x" * 100, b"y" * 100]


def one_round() -> None:
    for _ in range(5):
        http.request("POST", f"{well}/items", body=b"tea")
        nagle.request("POST", f"{stalled}/items", body=iter(pieces()), headers={"Content-Length": "200"})
    http.request("GET", f"{well}/think")
    http.request("GET", f"{well}/missing")
    http.request("GET", f"{well}/close")
    http.request("GET", slow)
    http.request("POST", slow, body=b"x" * 30_000)
    with contextlib.suppress(urllib3.exceptions.HTTPError):
        http.request("GET", refused)


server, _thread = prometheus_client.start_http_server(0, "127.0.0.1")
print(server.server_port, flush=True)
while not select.select([sys.stdin], [], [], 0.2)[0]:
    one_round()
