"""Takes another team's HAProxy configuration as it is and leads it to the bench: same rules, our sockets, our origin.

What decides whether a split POST stalls stays untouched: modes, options, ACLs, timeouts, frontends, backends. What is
replaced in a copy: the address of each `bind` (the kernel chooses a port), certificates (a throw-away one), the address
of each `server` (the bench's origin), and the lines that need the team's machine (chroot, user, sockets, log, checks).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from onewrite_bench.failures import BenchError

__all__ = ["Adopted", "adopt"]

_COMMENTED_OUT = ("resolvers", "peers", "program", "mailers", "ring")
_SECTION = re.compile(rf"^(global|defaults|frontend|backend|listen|userlist|cache|{'|'.join(_COMMENTED_OUT)})\b")
_CHECK = re.compile(r"(chk|check)$")
_MACHINE_ONLY = {
    "global": {"chroot", "user", "group", "uid", "gid", "daemon", "pidfile", "stats", "log", "ca-base", "crt-base",
               "master-worker", "nbproc", "localpeer", "server-state-file", "server-state-base"},
    "defaults": {"log", "errorfile", "errorfiles", "load-server-state-from-file"},
    "frontend": {"log", "errorfile", "errorfiles", "stats"},
    "backend": {"log", "errorfile", "errorfiles", "stats", "email-alert"},
    "listen": {"log", "errorfile", "errorfiles", "stats", "email-alert"},
}  # fmt: skip
_BIND_FILES = {"crt", "crt-list", "ca-file", "crl-file", "ca-verify-file", "verify"}
_BIND_VALUES = {"interface", "namespace", "uid", "user", "gid", "group", "mode", "id", "process", "thread", "shards"}
_BIND_BARE = {"transparent", "v4v6", "v6only", "accept-proxy", "expose-fd"}


@dataclass(frozen=True)
class Adopted:
    """`text` for HAProxy, `frontends` as (name, scheme): what the bench can POST to; `changed` for the report."""

    text: str
    frontends: list[tuple[str, str]]
    changed: list[str]


def adopt(text: str) -> Adopted:
    """Rewrite a configuration. Raises BenchError when it has no frontend that the bench can reach."""
    lines: list[str] = []
    frontends: list[tuple[str, str]] = []
    changed: list[str] = []
    section, name = "", ""
    has_server = False
    for number, line in enumerate(text.splitlines(), 1):
        words = _words(line, number)
        if not words:
            lines.append(line)
            continue
        if _SECTION.match(words[0]):
            section, name, has_server = words[0], words[1] if len(words) > 1 else "", False
            lines.append("# " + line if section in _COMMENTED_OUT else line)
        elif section in _COMMENTED_OUT:
            lines.append("# " + line)
        elif words[0] in _MACHINE_ONLY.get(section, ()) or (section == "global" and words[0].startswith("tune.lua")):
            changed.append(f"line {number}: {words[0]} left out")
            lines.append("# " + line)
        elif words[0] == "bind" and section in ("frontend", "listen"):
            made = _bind(words, name, len(frontends))
            if made is None:
                lines.append("# " + line)
                changed.append(f"line {number}: a bind that is no TCP address left out")
            else:
                lines.append(made[0])
                frontends.append((made[1], made[2]))
        elif words[0] in ("server", "server-template", "default-server"):
            if words[0] == "default-server" or has_server:
                lines.append("# " + line)  # one origin is enough: all servers of a backend would be the same one
            else:
                has_server = True
                h2 = " proto h2" if "h2" in words[3:] and "proto" in words[3:] else ""
                origin = "${ONEWRITE_ORIGIN_H2}" if h2 else "${ONEWRITE_ORIGIN}"
                lines.append(f'  server {words[1]} "{origin}"{h2}')
        elif words[0] in ("http-check", "tcp-check") or (
            words[0] == "option" and words[1:2] and _CHECK.search(words[1])
        ):
            lines.append("# " + line)
        else:
            lines.append(line)
    if not frontends:
        raise BenchError("the HAProxy configuration has no frontend with a TCP bind line")
    return Adopted("\n".join(lines) + "\n", frontends, changed)


def _words(line: str, number: int) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise BenchError(f"line {number} of the HAProxy configuration cannot be read: {error}") from error


def _bind(words: list[str], section: str, number: int) -> tuple[str, str, str] | None:
    """A bind line on a socket of ours: (line, name, scheme)."""
    if words[1].startswith(("/", "unix@", "abns@", "quic4@", "quic6@", "fd@", "sockpair@")):
        return None
    rest: list[str] = []
    options = iter(words[2:])
    tls = False
    for option in options:
        if option in _BIND_FILES or option in _BIND_VALUES:
            next(options, None)
        elif option not in _BIND_BARE:
            tls = tls or option == "ssl"
            rest.append(option)
    name = re.sub(r"[^a-z0-9]+", "-", f"{section}-{words[1]}".lower()).strip("-") or f"frontend-{number}"
    certificate = ' crt "${ONEWRITE_CERTIFICATE}"' if tls else ""
    variable = name.upper().replace("-", "_")
    return f'  bind "fd@${{FD_{variable}}}" {" ".join(rest)}{certificate}', name, "https" if tls else "http"
