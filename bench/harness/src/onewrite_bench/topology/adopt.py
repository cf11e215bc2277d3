"""Takes another team's HAProxy configuration as it is and leads it to the bench: same rules, our sockets, our origin.

What decides whether a split POST stalls stays: modes, options, ACLs, timeouts, frontends, backends. Only words that are
known to send nothing anywhere are copied; every other line is left out and listed. `bind` gets sockets of the bench,
each `server` the bench's origin, TLS a throw-away certificate. `guard` reads the copy again, by rules of its own.

`Adopted.original` says from which line of theirs a line of the copy came: HAProxy complains about the copy's.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from onewrite_bench.failures import BenchError
from onewrite_bench.topology.guard import FOREIGN_URL, NOWHERE, foreign_address, without_conditions

__all__ = ["Adopted", "adopt"]

_SECTIONS = {
    "global", "defaults", "frontend", "backend", "listen", "userlist", "cache",
    "http-errors", "fcgi-app", "resolvers", "peers", "program", "mailers", "ring", "log-forward", "log-profile",
    "crt-store", "traces", "acme", "healthcheck",
}  # fmt: skip
_KEPT_SECTIONS = {"global", "defaults", "frontend", "backend", "listen", "userlist", "cache"}
_PROXY_WORDS = {
    "acl", "backlog", "balance", "bind", "capture", "compression", "cookie", "declare", "default_backend",
    "description", "dispatch", "filter", "force-persist", "fullconn", "hash-balance-factor",
    "hash-preserve-affinity", "hash-type", "http-after-response", "http-request", "http-response", "http-reuse",
    "id", "ignore-persist", "max-keep-alive-queue", "max-session-srv-conns", "maxconn", "mode", "monitor",
    "monitor-uri", "option", "persist", "quic-initial", "rate-limit", "redirect", "retries", "retry-on", "server",
    "server-template", "stick", "stick-table", "tcp-request", "tcp-response", "timeout", "unique-id-format",
    "unique-id-header", "use-server", "use_backend",
}  # fmt: skip
_KEPT_WORDS = {
    "defaults": _PROXY_WORDS - {"server", "server-template", "dispatch", "bind"},
    "frontend": _PROXY_WORDS,
    "backend": _PROXY_WORDS,
    "listen": _PROXY_WORDS,
    "userlist": {"user", "group"},
    "cache": {"total-max-size", "max-object-size", "max-age", "max-secondary-entries", "process-vary"},
    "global": {
        "expose-experimental-directives", "nbthread", "no-memory-trimming", "presetenv", "set-var", "set-var-fmt",
        "setenv", "ssl-default-bind-ciphers", "ssl-default-bind-ciphersuites", "ssl-default-bind-curves",
        "ssl-default-bind-options", "ssl-default-bind-sigalgs",
    },
}  # fmt: skip
_OPTIONS_LEFT_OUT = re.compile(r"(chk|check|checks)$|^(transparent|http_proxy|socket-stats|dispatch)$|log|logasap")
_FILTERS = {"compression", "cache", "bwlim-in", "bwlim-out"}
# Rules that name somebody to send to, a program to run, or a client that we are not.
_RULES_LEFT_OUT = re.compile(
    r"\b(do-resolve|set-dst|set-dst-port|set-src|set-src-port|send-spoe-group|expect-proxy|expect-netscaler-cip|"
    r"attach-srv|use-service|set-log-level|errorfiles?)\b|\blua\."
)
_BIND_KEPT = {"ssl", "tfo", "allow-0rtt", "prefer-client-ciphers", "no-tls-tickets", "no-sslv3", "no-tlsv10",
              "no-tlsv11", "no-tlsv12", "no-tlsv13", "force-tlsv12", "force-tlsv13", "defer-accept"}  # fmt: skip
_BIND_KEPT_WITH_VALUE = {"alpn", "backlog", "ciphers", "ciphersuites", "curves", "ecdhe", "maxconn", "mss", "proto",
                         "ssl-max-ver", "ssl-min-ver", "tcp-ut"}  # fmt: skip
_BIND_VALUES = {"crt", "crt-list", "ca-file", "crl-file", "ca-verify-file", "verify", "interface", "namespace", "uid",
                "user", "gid", "group", "mode", "id", "process", "thread", "shards", "name", "label"}  # fmt: skip


@dataclass(frozen=True)
class Adopted:
    """`text` for HAProxy, `frontends` as (name, scheme): what the bench can POST to; `changed` for the report."""

    text: str
    frontends: list[tuple[str, str]]
    changed: list[str]
    numbers: list[int]

    def original(self, line: int) -> int:
        """The line of their configuration that became line `line` of the copy."""
        return self.numbers[line - 1] if 0 < line <= len(self.numbers) else line


def adopt(text: str, empty: Path = Path("/dev/null"), host: str | None = None) -> Adopted:
    """Rewrite a configuration. Raises BenchError when it has no frontend that the bench can reach.

    `empty`: a file to stand for lists that are not on this machine; one with the suffix .map, for maps.
    `host`: the Host that requests get.
    """
    if host is not None and not re.fullmatch(r"[A-Za-z0-9._:\[\]-]+", host):
        raise BenchError(f"HOST={host} is not a host name")
    copy = _Copy(empty, host)
    numbers: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        copy.add(line, _words(line, number), number)
        numbers += [number] * (len(copy.lines) - len(numbers))
    if not copy.frontends:
        raise BenchError("the HAProxy configuration has no frontend with a TCP bind line")
    return Adopted("\n".join(copy.lines) + "\n", copy.frontends, copy.changed, numbers)


def _words(line: str, number: int) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise BenchError(f"line {number} of the HAProxy configuration cannot be read: {error}") from error


@dataclass
class _Copy:
    empty: Path
    host: str | None
    lines: list[str] = field(default_factory=list)
    frontends: list[tuple[str, str]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    section: str = ""
    name: str = ""
    binds: dict[str, tuple[str, int]] = field(default_factory=dict)

    def add(self, line: str, words: list[str], number: int) -> None:
        if not words or words[0].startswith("."):  # `.if` and its like
            self.lines.append(line)
        elif words[0] in _SECTIONS:
            self._begin(line, words, number)
        elif self.section not in _KEPT_SECTIONS:
            self.lines.append("# left out")
        else:
            self._directive(line, words, number)

    def _out(self, number: int, what: str) -> None:
        """The line itself is not written, not even as a comment: it may hold a password."""
        self.lines.append("# left out")
        self.changed.append(f"line {number}: {what} left out")

    def _begin(self, line: str, words: list[str], number: int) -> None:
        self.section, self.name = words[0], words[1] if len(words) > 1 else ""
        self.binds = {}
        if self.section not in _KEPT_SECTIONS:
            self._out(number, f"section {self.section}")
        elif len(words) > 2 and words[2] != "from":
            self.lines.append(f"{words[0]} {words[1]}")
            self.changed.append(f"line {number}: the address of {words[0]} {words[1]} left out")
        else:
            self.lines.append(line)
        if self.section in ("frontend", "listen") and self.host is not None:
            self.lines.append(f"  http-request set-header Host {self.host}")

    def _directive(self, line: str, words: list[str], number: int) -> None:
        word = words[0]
        known = word in _KEPT_WORDS[self.section] or (
            self.section == "global" and word.startswith("tune.") and not word.startswith(("tune.lua", "tune.quic"))
        )
        plain = words[1:] if word == "no" else words
        if word in ("no", "default") and len(words) > 1 and words[1] == "option" and self.section != "global":
            known = True
        if not known:
            self._out(number, word)
        elif self.section == "userlist" and word == "user":
            self._user(words, number)
        elif word not in ("bind", "server", "server-template", "dispatch") and any("$" in one for one in words[:4]):
            # What the environment makes of a line is not known here.
            self._out(number, f"{word} that is named by the environment")
        elif word == "bind":
            self._bind(line, words, number)
        elif word in ("server", "server-template"):
            self.lines.append(self._server(words))
        elif word == "dispatch":
            self.lines.append('  server dispatch "${ONEWRITE_ORIGIN}"')
            self.changed.append(f"line {number}: dispatch became a server")
        elif plain[0] == "option" and (len(plain) < 2 or _OPTIONS_LEFT_OUT.search(plain[1])):
            self._out(number, " ".join(plain[:2]))
        elif word == "filter" and (len(words) < 2 or words[1] not in _FILTERS):
            self._out(number, " ".join(words[:2]))
        elif word in ("setenv", "presetenv") and words[1:2] and words[1].startswith(("ONEWRITE_", "FD_")):
            self._out(number, word)
        else:
            self._rule(line, words, number)

    def _user(self, words: list[str], number: int) -> None:
        """A user of a list keeps name and groups. The password becomes one that is no secret."""
        groups = words[words.index("groups") :][:2] if "groups" in words else []
        kept = [_quoted(word) for word in (*words[:2], "insecure-password", "onewrite", *groups)]
        self.lines.append("  " + " ".join(kept))
        self.changed.append(f"line {number}: the password of {words[1] if len(words) > 1 else 'a user'} left out")

    def _rule(self, line: str, words: list[str], number: int) -> None:
        if _RULES_LEFT_OUT.search(line):
            if words[0] == "acl" and len(words) > 1:  # other lines name it
                self.lines.append(f"  acl {words[1]} always_false")
                self.changed.append(f"line {number}: acl {words[1]} is never true: it needs what is not here")
            else:
                self._out(number, " ".join(words[:2]))
            return
        if words[0] == "stick-table" and "peers" in words:
            at = words.index("peers")
            words = [*words[:at], *words[at + 2 :]]
            line = "  " + " ".join(_quoted(word) for word in words)
            self.changed.append(f"line {number}: peers left out of the stick-table")
        if FOREIGN_URL.search(line) and (words[0] == "redirect" or "redirect" in words[1:2]):
            line = FOREIGN_URL.sub(rf"\g<scheme>{NOWHERE}", line)
            self.changed.append(f"line {number}: redirects to {NOWHERE}, which nobody can reach")
        line = self._with_files(line, words, number)
        address = foreign_address(without_conditions(line))
        if address is not None and words[0] != "acl":
            self._out(number, f"{words[0]} with {address}")
            return
        self.lines.append(line)

    def _with_files(self, line: str, words: list[str], number: int) -> str:
        """Lists and maps that are not on this machine are empty ones."""
        for match in re.finditer(r"(?:\s-f\s+|\bmap[a-z_]*\()([^\s,)]+)", line):
            path = match.group(1).strip("\"'")
            if not Path(path).is_file():
                # HAProxy reads a file either as a list or as a map, not as both.
                other = self.empty.with_suffix(".map") if "map" in match.group().split("(")[0] else self.empty
                line = line.replace(match.group(1), str(other))
                self.changed.append(f"line {number}: {path} is not here: empty")
        for word, after in pairwise(words):
            if word in ("file", "lf-file", "dh-file") and after.startswith("/") and not Path(after).is_file():
                self.changed.append(f"line {number}: {after} is not here: {words[0]} left out")
                return "# left out"
        return line

    def _server(self, words: list[str]) -> str:
        """Each server by its own name, for rules name it; all of them are our origin."""
        many = words[0] == "server-template"
        name = f"{words[1]} {words[2]}" if many and len(words) > 2 else words[1] if len(words) > 1 else "server"
        return f'  {words[0]} {name} "${{ONEWRITE_ORIGIN}}"'

    def _bind(self, line: str, words: list[str], number: int) -> None:
        made = _bind(words, self.name)
        if made is None:
            self._out(number, "a bind that is no TCP address")
            return
        name, rest = made
        if name in self.binds:
            if self.binds[name][0] == rest:  # *:80 and :::80
                self._out(number, f"a second address of line {self.binds[name][1]}")
                return
            name = f"{name}-{number}"
        self.binds[name] = (rest, number)
        variable = name.upper().replace("-", "_")
        tls = "ssl" in rest.split()
        certificate = ' crt "${ONEWRITE_CERTIFICATE}"' if tls else ""
        self.lines.append(f'  bind "fd@${{FD_{variable}}}"{rest}{certificate}')
        self.frontends.append((name, "https" if tls else "http"))


def _bind(words: list[str], section: str) -> tuple[str, str] | None:
    """A bind line's name and what is kept of its options, or None when it is no TCP address."""
    if len(words) < 2 or re.match(r"(/|unix@|abns@|abnsz@|quic4@|quic6@|fd@|sockpair@|rev@|udp|uxst@)", words[1]):
        return None
    rest = ""
    options = iter(words[2:])
    for option in options:
        if option in _BIND_KEPT_WITH_VALUE:
            value = next(options, "")
            rest += f" {option} {_quoted(value)}"
        elif option in _BIND_KEPT:
            rest += f" {option}"
        elif option in _BIND_VALUES:
            next(options, None)
    name = re.sub(r"[^a-z0-9]+", "-", f"{section}-{words[1]}".lower()).strip("-")
    return name, rest


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w.:,/+=!@%-]+", word) else shlex.quote(word)
