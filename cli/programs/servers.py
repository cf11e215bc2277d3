"""The servers that `onewrite check` is tested on: how each is started, and what is to be found."""

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

__all__ = ["SERVERS", "ServerProgram", "found_in", "run_server"]

HERE = Path(__file__).resolve().parent / "servers"
BIN = HERE / ".venv" / "bin"
SPLIT, NAGLE, STALL = "OW201", "OW202", "OW205"


@dataclass(frozen=True)
class ServerProgram:
    """`found` holds the findings that are expected, and no others."""

    server: str
    condition: str
    command: tuple[str, ...]
    found: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    needs: Callable[[], bool] = lambda: True


def on_path(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


def there(*paths: Path) -> Callable[[], bool]:
    return lambda: all(path.exists() for path in paths)


def python(server: str, condition: str, command: str, *found: str) -> ServerProgram:
    first, *rest = command.split()
    return ServerProgram(server, condition, (str(BIN / first), *rest), found, needs=there(BIN / first))


def own(server: str, *found: str) -> ServerProgram:
    """Started by app.py."""
    return python(server, "as it comes", f"python app.py {server.split()[-1]} {{port}}", *found)


def configured(server: str, condition: str, template: str, start: str, *found: str, path: str = "/index.html") -> ServerProgram:
    """A server with a configuration file, in a new folder. `start` is a line of the shell; $d is the folder."""
    line = (
        'd=$(mktemp -d) && trap \'rm -rf "$d"\' EXIT && chmod 755 "$d" && printf \'x%.0s\' $(seq 200) > "$d/index.html" && '
        f'sed "s#PORT#{{port}}#g; s#PREFIX#$d#g; s#UPSTREAM#{{port}}#g" {template} > "$d/conf" && {start}'
    )
    return ServerProgram(
        server, condition, ("sh", "-c", line), found, ("--path", path),
        needs=lambda: shutil.which(start.split()[0], path=os.environ["PATH"] + ":/usr/sbin") is not None,
    )  # fmt: skip


def java(server: str, condition: str, source: str, *found: str) -> ServerProgram:
    jars = HERE / "java" / "target" / "jars"
    command = ("java", "-cp", f"{jars}/*", f"java/{source}.java", "{port}")
    return ServerProgram(server, condition, command, found, needs=lambda: on_path("java")() and jars.exists())


SERVERS = (
    python("uvicorn", "one process", "uvicorn app:asgi --port {port} --log-level warning", SPLIT),
    python("uvicorn", "`--workers 2`", "uvicorn app:asgi --port {port} --log-level warning --workers 2", SPLIT),
    python("uvicorn", "`fd=`, one process", "python fd.py {port}", SPLIT, NAGLE, STALL),
    python("gunicorn", "sync, 2 workers", "gunicorn app:wsgi -b 127.0.0.1:{port} -w 2 --log-level warning", SPLIT),
    python(
        "gunicorn",
        "gthread, 2 workers",
        "gunicorn app:wsgi -b 127.0.0.1:{port} -w 2 -k gthread --threads 4 --log-level warning",
        SPLIT,
    ),
    python("hypercorn", "one process", "hypercorn app:asgi -b 127.0.0.1:{port} --log-level warning", SPLIT),
    python("hypercorn", "2 workers", "hypercorn app:asgi -b 127.0.0.1:{port} -w 2 --log-level warning", SPLIT),
    python("daphne", "as it comes", "daphne -p {port} -b 127.0.0.1 -v 0 app:asgi"),
    python("granian", "2 workers", "granian --interface asgi --port {port} --workers 2 --log-level warning app:asgi"),
    own("aiohttp"),
    own("tornado", NAGLE),
    own("waitress", SPLIT),
    own("cheroot", SPLIT),
    own("Python wsgiref", SPLIT, NAGLE),
    ServerProgram("Python http.server", "`python3 -m http.server`", ("python3", "-m", "http.server", "{port}"), (SPLIT, NAGLE)),
    ServerProgram(
        "puma", "one process", ("puma", "-q", "-b", "tcp://127.0.0.1:{port}", "config.ru"), (NAGLE,), needs=on_path("puma")
    ),
    ServerProgram(
        "puma",
        "cluster of 2",
        ("puma", "-q", "-w", "2", "-b", "tcp://127.0.0.1:{port}", "config.ru"),
        (NAGLE,),
        needs=on_path("puma"),
    ),
    ServerProgram("WEBrick", "as it comes", ("ruby", "webrick.rb", "{port}"), (SPLIT, NAGLE, STALL), needs=on_path("ruby")),
    ServerProgram("node:http", "one process", ("node", "server.mjs", "{port}"), needs=on_path("node")),
    ServerProgram("node:http", "cluster of 2", ("node", "server.mjs", "{port}", "2"), needs=on_path("node")),
    ServerProgram(
        "Go net/http",
        "as it comes",
        (str(HERE / "go" / "target" / "server"), "{port}"),
        needs=there(HERE / "go" / "target" / "server"),
    ),
    ServerProgram(
        "JDK HttpServer", "as it comes", ("java", "JdkServer.java", "{port}"), (SPLIT, NAGLE, STALL), needs=on_path("java")
    ),
    java("Jetty 12", "as it comes", "JettyServer"),
    java("Tomcat 11", "as it comes", "TomcatServer"),
    java("Netty 4.2", "its HTTP codec", "NettyServer"),
    ServerProgram(
        "PHP",
        "`php -S`",
        ("php", "-S", "127.0.0.1:{port}", "-t", "."),
        (SPLIT, NAGLE),
        ("--path", "/app.py"),
        needs=on_path("php"),
    ),
    configured("nginx", "a file", "nginx.conf", 'nginx -c "$d/conf" -p "$d"'),
    configured("nginx", "`return`", "nginx.conf", 'nginx -c "$d/conf" -p "$d"', path="/return"),
    configured("nginx", "`proxy_pass`", "nginx.conf", 'nginx -c "$d/conf" -p "$d"', path="/proxied"),
    configured("HAProxy", "`http-request return`", "haproxy.cfg", 'haproxy -db -f "$d/conf"', path="/"),
    configured("lighttpd", "a file", "lighttpd.conf", 'lighttpd -D -f "$d/conf"'),
    configured("Apache httpd", "a file, mpm_event", "apache.conf", 'apache2 -D FOREGROUND -f "$d/conf"'),
)


def run_server(program: ServerProgram) -> dict[str, Any]:
    """The JSON report of `onewrite check` about this server."""
    environment = dict(os.environ) | {"PATH": os.environ["PATH"] + ":/usr/sbin"}
    done = subprocess.run(
        [sys.executable, "-m", "onewrite_cli", "check", "-f", "json", *program.options, "--", *program.command],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=HERE,
        env=environment,
        check=False,
    )
    if not done.stdout:
        raise RuntimeError(done.stderr.strip())
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def found_in(report: dict[str, Any]) -> tuple[str, ...]:
    return tuple(finding["rule"] for finding in report["findings"] if finding["state"] in ("found", "warned"))
