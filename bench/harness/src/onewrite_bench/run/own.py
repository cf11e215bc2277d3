"""Scenarios made from what a user names: HAPROXY_CFG=, their own configuration, or TARGET=, their own address."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from onewrite_lab.certificates import Certificates
from onewrite_lab.servers import haproxy

from onewrite_bench.failures import BenchError
from onewrite_bench.scenario import Group, Scenario, Target, load
from onewrite_bench.topology.adopt import Adopted, adopt
from onewrite_bench.topology.guard import guard

__all__ = ["VARIABLES", "Request", "of_configuration", "of_target"]

CONNECT_S = 10.0
VARIABLES = ("PATH_TO_POST", "HOST", "EXPECT", "CA_FILE", "FRONTENDS")
_COPY, _CHECKED = "adopted.cfg", "adopted-check.cfg"


@dataclass(frozen=True)
class Request:
    """What to POST, from PATH_TO_POST=, HOST=, EXPECT= (a status other than 2xx that is right), CA_FILE= (an authority
    that all clients trust) and FRONTENDS= (those to judge, comma-separated)."""

    path: str | None = None
    host: str | None = None
    expect: int | None = None
    ca_file: str | None = None
    frontends: tuple[str, ...] = ()

    @staticmethod
    def from_environment(env: Mapping[str, str] = os.environ) -> Request:
        path, host, expect = (env.get(name) or None for name in ("PATH_TO_POST", "HOST", "EXPECT"))
        if path is not None and not re.fullmatch(r"/[!-~]*", path):
            raise BenchError(f"PATH_TO_POST={path} is not a path that begins with /")
        if expect is not None and not re.fullmatch(r"[2-5]\d\d", expect):
            raise BenchError(f"EXPECT={expect} is not a status from 200 to 599")
        ca_file = env.get("CA_FILE") or None
        if ca_file is not None and not Path(ca_file).is_file():
            raise BenchError(f"CA_FILE={ca_file}: no such file")
        frontends = tuple(name.strip() for name in env.get("FRONTENDS", "").split(",") if name.strip())
        # Drivers start in folders of their own.
        ca_file = str(Path(ca_file).resolve()) if ca_file else None
        return Request(path, host, int(expect) if expect else None, ca_file, frontends)


def of_configuration(path: Path, directory: Path, request: Request) -> Scenario:
    """The POST scenario over the frontends of a HAProxy configuration. It is not known which of them stall."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"HAPROXY_CFG={path} cannot be read: {error}") from error
    directory.mkdir(parents=True, exist_ok=True)
    empty = directory / "adopted-empty.lst"
    empty.write_text("")
    empty.with_suffix(".map").write_text("")
    adopted = adopt(text, empty, request.host)
    guard(adopted.text)
    _write(directory / _COPY, adopted.text)
    _check(path, adopted, directory)
    known = [name for name, _ in adopted.frontends]
    unknown = [name for name in request.frontends if name not in known]
    if unknown:
        raise BenchError(f"FRONTENDS={unknown[0]}: the configuration has {', '.join(known)}")
    targets = tuple(
        Target(name=name, at=f"haproxy/{name}", stalls=True, scheme=scheme, path=request.path or "/")
        for name, scheme in adopted.frontends
        if not request.frontends or name in request.frontends
    )
    story = f"The frontends of {path.name}. Left out: {'; '.join(adopted.changed) or 'nothing'}."
    topology = {"haproxy": str((directory / _COPY).resolve()), "tls": True}
    return _scenario("own-haproxy", f"POST through {path.name}", story, topology, targets, request)


def _write(file: Path, text: str) -> None:
    """Rules may hold secrets, as a header does: only the owner reads the copy."""
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_text(text)


def _check(path: Path, adopted: Adopted, directory: Path) -> None:
    """Have HAProxy read the copy before anything runs. Raises BenchError with its complaint and a line to run again.

    In the copy that is checked, sockets and certificate have names that `haproxy -c` can read.
    """
    text = re.sub(r'"fd@\$\{FD_[A-Z0-9_]+\}"', "127.0.0.1:1", adopted.text)
    text = re.sub(r'"\$\{ONEWRITE_ORIGIN\w*\}"', "127.0.0.1:1", text)
    if "ONEWRITE_CERTIFICATE" in text:
        text = text.replace("${ONEWRITE_CERTIFICATE}", Certificates(directory / "adopted-tls").server_file())
    checked = directory / _CHECKED
    _write(checked, text)
    command = [haproxy.find(), "-c", "-f", str(checked)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"haproxy -c could not be run: {error}") from error
    if done.returncode == 0:
        return
    said = haproxy.complaint(done.stderr + done.stdout) or f"haproxy -c ended with {done.returncode}"

    def theirs(match: re.Match[str]) -> str:
        return f"{path.name}:{adopted.original(int(match.group(1)))}"

    said = re.sub(rf"{re.escape(str(checked))}:(\d+)", theirs, said)
    raise BenchError(f"HAPROXY_CFG={path}: {said[:500]} (again: {shlex.join(command)})")


def of_target(url: str, request: Request) -> Scenario:
    """The POST scenario over one address that the user named. It gets POSTs of 200 bytes, one after the other."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        plain = re.fullmatch(r"[!-~]+", url) is not None
        right = plain and parts.scheme in ("http", "https") and parts.hostname and not parts.username
    except ValueError:
        right = False
    if not right:
        raise BenchError(f"TARGET={url} is not an address like http://host:port/path") from None
    if request.host is not None:
        raise BenchError("HOST= goes with HAPROXY_CFG=; with TARGET= the host is in the address")
    if request.frontends:
        raise BenchError("FRONTENDS= goes with HAPROXY_CFG=")
    try:
        # Said once here; else each client would be reported as failing.
        socket.create_connection((parts.hostname or "", port), CONNECT_S).close()
    except OSError as error:
        raise BenchError(f"TARGET={url} takes no connection: {error.strerror or error}") from error
    if request.path is not None:
        url = f"{parts.scheme}://{parts.netloc}{request.path}"
    target = Target(name=parts.netloc, at=f"target/{port}", stalls=True, scheme=parts.scheme, url=url)
    story = "An address that the user named."
    return _scenario("own-target", f"POST to {parts.netloc}", story, {}, (target,), request)


def _scenario(
    name: str, title: str, story: str, topology: dict[str, object], targets: tuple[Target, ...], request: Request
) -> Scenario:
    pattern = load("post-stall")
    parameters = {key: value for key, value in pattern.parameters.items() if key != "rates"}
    groups: tuple[Group, ...] = tuple(replace(group, targets=targets) for group in pattern.groups)
    parameters |= {"unknown": True, "expect": request.expect, "pick": not request.frontends}
    if request.ca_file is not None and "tls" not in topology:
        parameters["ca_file"] = request.ca_file
    return Scenario(name, title, story, "post", topology, groups, parameters)
