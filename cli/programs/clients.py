"""The clients that `onewrite check` is tested on: how each is started, and what is to be found."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CLIENTS", "ClientProgram"]

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "cli" / "programs" / "clients"
PYTHON = ROOT / "python" / ".venv" / "bin" / "python"
SPLIT, NAGLE, RECORDS, STALL = "OW101", "OW102", "OW103", "OW105"


@dataclass(frozen=True)
class ClientProgram:
    """`found` holds the findings that are expected, and no others."""

    name: str
    command: tuple[str, ...]
    found: tuple[str, ...]
    options: tuple[str, ...]
    needs: Callable[[], bool]


def client(name: str, command: str, *found: str, options: str = "", needs: Callable[[], bool] | None = None) -> ClientProgram:
    words = tuple(command.split())
    there = needs or (lambda: shutil.which(words[0]) is not None)
    return ClientProgram(f"{name}{' ' if options else ''}{options}", words, found, tuple(options.split()), there)


def python(library: str, *found: str, options: str = "", url: str = "{url}") -> ClientProgram:
    command = f"{PYTHON} {HERE / 'client.py'} {library} {url}"
    return client(f"python {library}", command, *found, options=options, needs=PYTHON.exists)


def node(library: str, *found: str, options: str = "") -> ClientProgram:
    there = (ROOT / "node" / "node_modules").exists
    return client(f"node {library}", f"node {HERE / 'client.mjs'} {library} {{url}}", *found, options=options, needs=there)


def ruby(library: str, gem: str, *found: str, options: str = "") -> ClientProgram:
    def there() -> bool:
        tried = ["ruby", "-e", f'require "{gem}"']
        return shutil.which("ruby") is not None and subprocess.run(tried, capture_output=True, check=False).returncode == 0

    return client(f"ruby {library}", f"ruby {HERE / 'client.rb'} {library} {{url}}", *found, options=options, needs=there)


def java(library: str, *found: str, options: str = "") -> ClientProgram:
    return client(f"java {library}", f"java {HERE / 'Client.java'} {library} {{url}}", *found, options=options)


NAME = "http://check.onewrite.test/"
CLIENTS = (
    client("curl -d", "curl -sS -d {body} {url}"),
    client("curl -d, 20 on one connection", "curl -sS -d {body} {url}[1-20]"),
    client("curl -d, 20 on one connection", "curl -sS -d {body} {url}[1-20]", options="--tls"),
    client("curl -F", "curl -sS -F name={body} {url}[1-20]", SPLIT),
    client("curl -T", "curl -sS -T {body_file} {url}[1-20]"),
    client("curl -T - (chunked)", "curl -sS -H Transfer-Encoding:chunked -d @{body_file} {url}[1-20]"),
    client("curl, Nagle on", "curl -sS --no-tcp-nodelay -d {body} {url}[1-20]", NAGLE),
    client("curl", f"curl -sS -d {{body}} {NAME}[1-20]", options="--proxy"),
    client("wget --post-file", "wget -q -O - --post-file={body_file} {url}", SPLIT, NAGLE, STALL),
    client(
        "wget --post-data",
        "wget -q -O - --no-check-certificate --post-data={body} {url}",
        SPLIT,
        NAGLE,
        RECORDS,
        STALL,
        options="--tls",
    ),
    python("http_client", SPLIT),
    python("http_client", SPLIT, RECORDS, options="--tls"),
    python("urllib", SPLIT),
    python("urllib3", SPLIT),
    python("urllib3", SPLIT, RECORDS, options="--tls"),
    python("urllib3_nagle", SPLIT, NAGLE, STALL),
    python("urllib3_nagle", SPLIT, NAGLE, RECORDS, STALL, options="--tls"),
    python("requests", SPLIT),
    python("requests", SPLIT, RECORDS, options="--tls"),
    python("requests", SPLIT, NAGLE, STALL, options="--proxy", url=NAME),
    python("requests_each", SPLIT),
    python("requests_stream", SPLIT),
    python("httpx", SPLIT),
    python("httpx", SPLIT, RECORDS, options="--tls"),
    python("httpx_file", SPLIT),
    python("httpx_async", SPLIT),
    python("aiohttp"),
    python("aiohttp", options="--tls"),
    node("end"),
    node("length"),
    node("write"),
    node("late", SPLIT),
    node("late", SPLIT, NAGLE, RECORDS, STALL, options="--tls"),
    node("fetch"),
    node("fetch", options="--tls"),
    node("fetchform", SPLIT),
    node("undici"),
    node("axios"),
    node("axiosstream"),
    node("got"),
    node("nodefetch"),
    node("needle"),
    ruby("net_http", "net/http", SPLIT),
    ruby("net_http", "net/http", SPLIT, RECORDS, options="--tls"),
    ruby("net_http_each", "net/http", SPLIT),
    ruby("net_http_stream", "net/http", SPLIT),
    ruby("excon", "excon", NAGLE),
    ruby("excon_stream", "excon", SPLIT, NAGLE, STALL),
    ruby("http_rb", "http", NAGLE),
    ruby("http_rb_stream", "http", SPLIT, NAGLE, STALL),
    ruby("httpclient", "httpclient", NAGLE),
    ruby("httpclient_io", "httpclient", SPLIT, NAGLE, STALL),
    ruby("faraday", "faraday", SPLIT),
    ruby("rest_client", "rest-client", SPLIT),
    ruby("httparty", "httparty", SPLIT),
    java("url", SPLIT),
    java("stream", SPLIT),
    java("http", SPLIT),
    java("http", SPLIT, RECORDS, options="--tls"),
    client("perl HTTP::Tiny", f"perl {HERE / 'client.pl'} {{url}}", SPLIT, NAGLE, STALL),
    client("go string", f"go run {HERE / 'client.go'} string {{url}}"),
    client("go reader", f"go run {HERE / 'client.go'} reader {{url}}", SPLIT),
)
