"""The clients that `onewrite check` is tested on. A line has the client, its command and what is expected of it.

A new line needs nothing else: `client("my client", "my-client --post {body} {url}", CLEAN)`. What is expected is the first
word of the report (CLEAN, WARNED or STALLS) and the rules that are found or warned of, without OW105, which STALLS means.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["CLIENTS", "ClientProgram", "verdict_of"]

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "cli" / "programs" / "clients"
PYTHON = ROOT / "python" / ".venv" / "bin" / "python"
CLEAN, SPLIT, NAGLE, BOTH, STALLS = "CLEAN", "WARNED OW101", "WARNED OW102", "WARNED OW101 OW102", "STALLS OW101 OW102"
SPLIT_RECORDS, STALLS_RECORDS = "WARNED OW101 OW103", "STALLS OW101 OW102 OW103"


@dataclass(frozen=True)
class ClientProgram:
    name: str
    command: tuple[str, ...]
    expected: str
    options: tuple[str, ...] = ()
    needs: Callable[[], bool] = lambda: True


def verdict_of(report: dict[str, Any]) -> str:
    """Of a JSON report, in the form of the table."""
    word = report["headline"].replace(":", " ").split()[0]
    rules = [one["rule"] for one in report["findings"] if one["state"] in ("found", "warned") and one["rule"] != "OW105"]
    return " ".join([word, *rules])


def client(name: str, command: str, expected: str, options: str = "", needs: Callable[[], bool] | None = None) -> ClientProgram:
    words = tuple(command.split())
    there = needs or (lambda: shutil.which(words[0]) is not None)
    return ClientProgram(f"{name} {options}".strip(), words, expected, tuple(options.split()), there)


def runs(*command: str) -> Callable[[], bool]:
    """True where this command ends with 0."""
    there = shutil.which(command[0])
    return lambda: there is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


def python(library: str, expected: str, options: str = "", url: str = "{url}") -> ClientProgram:
    command = f"{PYTHON} {HERE / 'client.py'} {library} {url}"
    return client(f"python {library}", command, expected, options, PYTHON.exists)


def debian(library: str, expected: str) -> ClientProgram:
    """A library of Debian's Python."""
    command = f"/usr/bin/python3 {HERE / 'client.py'} {library} {{url}}"
    return client(f"python {library}", command, expected, needs=runs("/usr/bin/python3", "-c", f"import {library}"))


def node(library: str, expected: str, options: str = "") -> ClientProgram:
    there = (ROOT / "node" / "node_modules").exists
    return client(f"node {library}", f"node {HERE / 'client.mjs'} {library} {{url}}", expected, options, there)


def ruby(library: str, gem: str, expected: str, options: str = "") -> ClientProgram:
    command = f"ruby {HERE / 'client.rb'} {library} {{url}}"
    return client(f"ruby {library}", command, expected, options, runs("ruby", "-e", f'require "{gem}"'))


def java(library: str, expected: str, options: str = "") -> ClientProgram:
    return client(f"java {library}", f"java {HERE / 'Client.java'} {library} {{url}}", expected, options)


def go(way: str, expected: str) -> ClientProgram:
    return client(f"go {way}", f"go run {HERE / 'client.go'} {way} {{url}}", expected)


def perl(library: str, expected: str) -> ClientProgram:
    needs = runs("perl", "-e", "use LWP::UserAgent" if "lwp" in library else "use HTTP::Tiny")
    return client(f"perl {library}", f"perl {HERE / 'client.pl'} {library} {{url}}", expected, needs=needs)


def php(way: str, expected: str) -> ClientProgram:
    needs = runs("php", "-r", "exit(extension_loaded('curl') ? 0 : 1);")
    return client(f"php {way}", f"php {HERE / 'client.php'} {way} {{url}}", expected, needs=needs)


def lua(way: str, expected: str) -> ClientProgram:
    needs = runs("lua5.4", "-e", 'require "socket.http"')
    return client(f"lua {way}", f"lua5.4 {HERE / 'client.lua'} {way} {{url}}", expected, needs=needs)


def rust(way: str, expected: str) -> ClientProgram:
    built = HERE / "rust" / "target" / "release" / "client"
    return client(f"rust ureq {way}", f"{built} {way} {{url}}", expected, needs=built.exists)


NAME = "http://check.onewrite.test/"
CLIENTS = (
    client("curl -d", "curl -sS -d {body} {url}", CLEAN),
    client("curl -d, 20 on one connection", "curl -sS -d {body} {url}[1-20]", CLEAN),
    client("curl -d, 20 on one connection", "curl -sS -d {body} {url}[1-20]", CLEAN, "--tls"),
    client("curl -F", "curl -sS -F name={body} {url}[1-20]", SPLIT),
    client("curl -F, Nagle on", "curl -sS --no-tcp-nodelay -F name={body} {url}[1-20]", STALLS),
    client("curl -T", "curl -sS -T {body_file} {url}[1-20]", CLEAN),
    client("curl -T - (chunked)", "curl -sS -H Transfer-Encoding:chunked -d @{body_file} {url}[1-20]", CLEAN),
    client("curl, Nagle on", "curl -sS --no-tcp-nodelay -d {body} {url}[1-20]", NAGLE),
    client("curl", f"curl -sS -d {{body}} {NAME}[1-20]", CLEAN, "--proxy"),
    client("wget --post-file", "wget -q -O - --post-file={body_file} {url}", STALLS),
    client("wget --post-data", "wget -q -O - --no-check-certificate --post-data={body} {url}", STALLS_RECORDS, "--tls"),
    client("hey", "hey -n 20 -c 1 -m POST -d {body} {url}", CLEAN),
    client("wrk", "wrk -c 1 -t 1 -d 1 {url}", CLEAN),
    client("ab", "ab -q -n 20 -p {body_file} {url}", NAGLE),
    client("ab -k", "ab -q -n 20 -k -p {body_file} {url}", NAGLE),
    client("siege", "siege -q -c 1 -r 20 {url}", NAGLE),
    client("httpie", "http --ignore-stdin -q POST {url} name={body}", SPLIT),
    php("stream", NAGLE),
    php("large", NAGLE),
    php("nodelay", CLEAN),
    php("curl", CLEAN),
    php("socket", STALLS),
    perl("tiny", STALLS),
    perl("lwp", NAGLE),
    perl("lwp_large", STALLS),
    perl("lwp_stream", STALLS),
    perl("lwp_nodelay", CLEAN),
    lua("plain", STALLS),
    lua("nodelay", SPLIT),
    go("string", CLEAN),
    go("reader", SPLIT),
    go("large", SPLIT),
    go("buffered", CLEAN),
    go("nagle", STALLS),
    rust("string", SPLIT),
    rust("reader", SPLIT),
    debian("pycurl", CLEAN),
    debian("tornado", SPLIT),
    python("http_client", SPLIT),
    python("http_client", SPLIT_RECORDS, "--tls"),
    python("urllib", SPLIT),
    python("urllib3", SPLIT),
    python("urllib3", SPLIT_RECORDS, "--tls"),
    python("urllib3_nagle", STALLS),
    python("urllib3_nagle", STALLS_RECORDS, "--tls"),
    python("requests", SPLIT),
    python("requests", SPLIT_RECORDS, "--tls"),
    python("requests", STALLS, "--proxy", url=NAME),
    python("requests_each", SPLIT),
    python("requests_stream", SPLIT),
    python("httpx", SPLIT),
    python("httpx", SPLIT_RECORDS, "--tls"),
    python("httpx_file", SPLIT),
    python("httpx_async", SPLIT),
    python("aiohttp", CLEAN),
    python("aiohttp", CLEAN, "--tls"),
    node("end", CLEAN),
    node("length", CLEAN),
    node("write", CLEAN),
    node("late", SPLIT),
    node("late", STALLS_RECORDS, "--tls"),
    node("fetch", CLEAN),
    node("fetch", CLEAN, "--tls"),
    node("fetchform", SPLIT),
    node("undici", CLEAN),
    node("axios", CLEAN),
    node("axiosstream", CLEAN),
    node("got", CLEAN),
    node("nodefetch", CLEAN),
    node("needle", CLEAN),
    ruby("net_http", "net/http", SPLIT),
    ruby("net_http", "net/http", SPLIT_RECORDS, "--tls"),
    ruby("net_http_each", "net/http", SPLIT),
    ruby("net_http_stream", "net/http", SPLIT),
    ruby("excon", "excon", NAGLE),
    ruby("excon_nodelay", "excon", CLEAN),
    ruby("excon_stream", "excon", STALLS),
    ruby("http_rb", "http", NAGLE),
    ruby("http_rb_nodelay", "http", CLEAN),
    ruby("http_rb_stream", "http", STALLS),
    ruby("httpclient", "httpclient", NAGLE),
    ruby("httpclient_io", "httpclient", STALLS),
    ruby("faraday", "faraday", SPLIT),
    ruby("rest_client", "rest-client", SPLIT),
    ruby("httparty", "httparty", SPLIT),
    java("url", SPLIT),
    java("stream", SPLIT),
    java("http", SPLIT),
)
