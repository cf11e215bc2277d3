"""The programs that onewrite check is tested on: how each is run, and what is to be found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COUNT = "20"


@dataclass(frozen=True)
class Program:
    """`options` go to onewrite check. `found` holds the findings that are expected, and no others."""

    library: str
    condition: str
    command: tuple[str, ...]
    found: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    onewrite: bool = False
    needs: Callable[[], bool] = lambda: True


def on_path(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


def there(*paths: Path) -> Callable[[], bool]:
    return lambda: all(path.exists() for path in paths)


PYTHON = HERE / "python" / ".venv" / "bin" / "python"
NODE_MODULES = HERE / "node" / "node_modules"
JARS = HERE / "java" / "target" / "jars"
CLASSES = [ROOT / "java" / module / "target" / "classes" for module in ("core", "okhttp")]
GO = HERE / "go" / "target" / "client"
TLS = ("--tls",)
PROXY = ("--proxy",)
TUNNEL = ("--proxy", "--tls")
SPLIT, NAGLE, RECORDS, STALL = "OW101", "OW102", "OW103", "OW105"


def with_onewrite(command: tuple[str, ...], on: bool) -> tuple[str, ...]:
    return (*command, "--onewrite") if on else command


def python(library: str, condition: str, *found: str, options: tuple[str, ...] = (), onewrite: bool = False) -> Program:
    command = (str(PYTHON), str(HERE / "python" / "client.py"), library, "{url}", COUNT)
    return Program(f"Python {library}", condition, with_onewrite(command, onewrite), found, options, onewrite, there(PYTHON))


def ruby(library: str, name: str, condition: str, *found: str, options: tuple[str, ...] = (), onewrite: str = "") -> Program:
    """`onewrite`: the file of the gem that the program requires."""
    loaded = ("-I", str(ROOT / "ruby" / "lib"), "-r", onewrite) if onewrite else ()
    command = ("ruby", "-W0", *loaded, str(HERE / "ruby" / "client.rb"), library, "{url}", COUNT)
    return Program(name, condition, command, found, options, bool(onewrite), on_path("ruby"))


def node(library: str, name: str, condition: str, *found: str, options: tuple[str, ...] = (), onewrite: bool = False) -> Program:
    command = ("node", "--no-warnings", str(HERE / "node" / "client.mjs"), library, "{url}", COUNT)
    return Program(name, condition, with_onewrite(command, onewrite), found, options, onewrite, there(NODE_MODULES))


def okhttp(condition: str, size: str, *found: str, options: tuple[str, ...] = (), onewrite: bool = False) -> Program:
    path = os.pathsep.join([f"{JARS}/*", *map(str, CLASSES)])
    command = ("java", "-cp", path, str(HERE / "java" / "OkHttpProgram.java"), "{url}", COUNT, size)
    return Program("Java OkHttp", condition, with_onewrite(command, onewrite), found, options, onewrite, there(JARS, *CLASSES))


JDK = ("java", str(HERE / "java" / "HttpClientProgram.java"), "{url}", COUNT)
PROGRAMS = (
    Program("curl", "one request each", ("curl", "-sS", "-d", "{body}", "{url}"), needs=on_path("curl")),
    Program("curl", "20 requests, one connection", ("curl", "-sS", "-d", "{body}", "{url}[1-20]"), needs=on_path("curl")),
    Program("curl", "https", ("curl", "-sS", "-d", "{body}", "{url}[1-20]"), options=TLS, needs=on_path("curl")),
    Program(
        "wget",
        "`--post-file`",
        ("wget", "-q", "-O", "-", "--post-file={body_file}", "{url}"),
        (SPLIT, NAGLE, STALL),
        needs=on_path("wget"),
    ),
    python("http.client", "direct", SPLIT),
    python("requests", "direct", SPLIT),
    python("requests", "direct", onewrite=True),
    python("requests", "https", SPLIT, RECORDS, options=TLS),
    python("requests", "https", options=TLS, onewrite=True),
    python("requests", "`HTTP_PROXY`", SPLIT, NAGLE, STALL, options=PROXY),
    python("requests", "`HTTP_PROXY`", options=PROXY, onewrite=True),
    python("requests", "`HTTPS_PROXY` (CONNECT)", SPLIT, NAGLE, RECORDS, STALL, options=TUNNEL),
    python("requests", "`HTTPS_PROXY` (CONNECT)", options=TUNNEL, onewrite=True),
    python("httpx", "direct", SPLIT),
    python("httpx", "https", SPLIT, RECORDS, options=TLS),
    python("aiohttp", "direct"),
    python("aiohttp", "`HTTP_PROXY`", options=PROXY),
    ruby("net_http", "Ruby Net::HTTP", "direct", SPLIT),
    ruby("net_http", "Ruby Net::HTTP", "direct", onewrite="onewrite"),
    ruby("net_http", "Ruby Net::HTTP", "https", SPLIT, RECORDS, options=TLS),
    ruby("net_http", "Ruby Net::HTTP", "https", options=TLS, onewrite="onewrite"),
    ruby("net_http", "Ruby Net::HTTP", "`HTTP_PROXY`", SPLIT, options=PROXY),
    ruby("http_rb", "Ruby http.rb", "direct", NAGLE),
    ruby("http_rb_stream", "Ruby http.rb", "streamed body", SPLIT, NAGLE, STALL),
    ruby("http_rb_stream", "Ruby http.rb", "streamed body", SPLIT, onewrite="onewrite/http_rb"),
    ruby("excon", "Ruby excon", "direct", NAGLE),
    ruby("excon_stream", "Ruby excon", "streamed body (`request_block:`)", SPLIT, NAGLE, STALL),
    ruby("excon_stream", "Ruby excon", "streamed body (`request_block:`)", SPLIT, onewrite="onewrite/excon"),
    ruby("httpclient", "Ruby httpclient", "direct", NAGLE),
    ruby("httpclient_io", "Ruby httpclient", "body is an IO", SPLIT, NAGLE, STALL),
    ruby("httpclient_io", "Ruby httpclient", "body is an IO", SPLIT, onewrite="onewrite/httpclient"),
    node("fetch", "Node fetch", "direct"),
    node("fetch", "Node fetch", "direct", onewrite=True),
    node("fetch", "Node fetch", "https", options=TLS),
    node("axios", "Node axios", "direct"),
    node("axios", "Node axios", "direct", onewrite=True),
    node("axios", "Node axios", "`HTTP_PROXY`", options=PROXY),
    node("axios-stream", "Node axios", "stream over https", SPLIT, NAGLE, RECORDS, STALL, options=TLS),
    node("axios-stream", "Node axios", "stream over https", SPLIT, RECORDS, options=TLS, onewrite=True),
    node("got", "Node got", "direct"),
    node("got", "Node got", "https", NAGLE, options=TLS),
    okhttp("direct", "200", NAGLE),
    okhttp("direct", "200", onewrite=True),
    okhttp("12,000 bytes", "12000", SPLIT, NAGLE, STALL),
    okhttp("12,000 bytes", "12000", onewrite=True),
    okhttp("https", "200", NAGLE, options=TLS),
    Program("Java HttpClient (JDK)", "direct", JDK, (SPLIT,), needs=on_path("java")),
    Program("Java HttpClient (JDK)", "https", JDK, (SPLIT, RECORDS), TLS, needs=on_path("java")),
    Program("Go net/http", "direct", (str(GO), "{url}", COUNT), (), needs=there(GO)),
    Program("Go net/http", "https", (str(GO), "{url}", COUNT), (), TLS, needs=there(GO)),
    Program("Go net/http", "`HTTP_PROXY`", (str(GO), "{url}", COUNT), (), PROXY, needs=there(GO)),
)


def run(program: Program) -> dict[str, Any]:
    """The JSON report of onewrite check about this program."""
    kept_out = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "ONEWRITE_DISABLED")
    environment = {name: value for name, value in os.environ.items() if name.upper() not in kept_out}
    environment["PYTHONPATH"] = str(ROOT / "python" / "src")
    done = subprocess.run(
        [sys.executable, "-m", "onewrite_cli", "check", "-f", "json", *program.options, "--", *program.command],
        capture_output=True,
        text=True,
        timeout=280,
        env=environment,
        check=False,
    )
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def found_in(report: dict[str, Any]) -> tuple[str, ...]:
    return tuple(finding["rule"] for finding in report["findings"] if finding["state"] == "found")
