"""Refuses a HAProxy configuration that could send anything to anybody but the bench.

It shares no rule with `adopt`, which made the configuration: what one of them overlooks, the other should not.
"""

from __future__ import annotations

import re

from onewrite_bench.failures import BenchError

__all__ = ["FOREIGN_URL", "NOWHERE", "foreign_address", "guard", "without_conditions"]

NOWHERE = "onewrite.invalid"
"""A host name that never resolves (RFC 2606)."""

FOREIGN_URL = re.compile(rf"(?P<scheme>\bhttps?://)(?!{re.escape(NOWHERE)}\b)[^\s/\"'?#%]+", re.IGNORECASE)

_ADDRESS = re.compile(
    r"""(?<![\w.])(?:
        (?P<v4>\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?)
      | (?P<v6>\[?(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}\]?(?::\d+)?)
      | (?P<prefixed>(?:ipv4|ipv6|tcp4?6?|udp4?6?|quic4|quic6|unix|abnsz?|uxst|ring|sockpair|rev)@[^\s"']*)
      | (?P<named>[A-Za-z0-9_][\w-]*(?:\.[\w-]+)+:\d{1,5}\b)
      | (?P<url>https?://[^\s"'%]+)
    )(?![\w.])""",
    re.VERBOSE,
)
_OURS = re.compile(rf"(127\.\d+\.\d+\.\d+|\[?::1\]?)(:\d+)?|https?://{re.escape(NOWHERE)}\b.*")
_SERVER = re.compile(r"(server \S+|server-template \S+ \S+) \"\$\{ONEWRITE_ORIGIN(_NAGLE)?\}\"( (check|maxconn \d+))*")
_BIND = re.compile(r"bind \"fd@\$\{FD_[A-Z0-9_]+\}\"(?! .*@)")
_USER = re.compile(r"(user|group) [^$]*")
_HEADER = re.compile(r"\s*http-(?:request|response|after-response)\s+(?:set|add|replace)-header\s")
_SENDERS = {
    "dispatch", "email-alert", "external-check", "http-check", "load-server-state-from-file", "log", "lua-load",
    "lua-load-per-thread", "lua-prepend-path", "mailer", "mailers", "nameserver", "peer", "peers", "program",
    "resolvers", "ring", "server-state-file", "source", "spoe-agent", "stats", "tcp-check", "transparent", "usesrc",
    "command",
    "insecure-fork-wanted", "module-load", "httpclient.resolvers.id", "log-forward", "default-server", "chroot",
    "user",
    "errorfile", "errorloc", "errorloc302", "errorloc303", "ocsp-update", "acme",
}  # fmt: skip
_SENDING = re.compile(
    r"\b(do-resolve|set-dst|set-dst-port|send-spoe-group|spoe|spop|resolvers|peers|external-check|usesrc|http_proxy|"
    r"set-retries-server|attach-srv)\b|\blua\.|\boption\s+(transparent|\S*-check|httpchk|\S*-checks)\b"
)


def foreign_address(text: str) -> str | None:
    """The first address in a line that is not of this machine's loopback, or None."""
    for match in _ADDRESS.finditer(text):
        if not _OURS.fullmatch(match.group()) and not _is_time_or_version(match):
            return match.group()
    return None


def without_conditions(line: str) -> str:
    """A line without what sends nothing: conditions (after if and unless, in braces), and values of headers."""
    if _HEADER.match(line):
        return ""
    return re.sub(r"\{[^}]*\}", "", re.split(r"\s(?:if|unless)\s", line, maxsplit=1)[0])


def guard(text: str) -> None:
    """Raises BenchError for the first line that could send something elsewhere."""
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        live = _without_comment(line).strip()
        if not live:
            continue
        word = live.split()[0].strip("\"'")
        if word in ("global", "defaults", "frontend", "backend", "listen", "userlist", "cache"):
            section = word
            if foreign_address(live) is not None:
                _refuse(number, live)
            continue
        if section == "userlist" and _USER.fullmatch(live):
            continue
        if not re.fullmatch(r"[.\w-]+", word) or word in _SENDERS or _SENDING.search(live):
            _refuse(number, live)
        elsewhere = word in ("bind", "server", "server-template")
        if not elsewhere and any("$" in one for one in live.split()[:4]):
            _refuse(number, live)
        if word in ("setenv", "presetenv") and re.search(r"\b(ONEWRITE_|FD_)", live):
            _refuse(number, live)
        if word in ("server", "server-template"):
            if not _SERVER.fullmatch(live):
                _refuse(number, live)
        elif word == "bind":
            if not _BIND.match(live):
                _refuse(number, live)
        elif word != "acl" and section != "userlist" and foreign_address(without_conditions(live)) is not None:
            _refuse(number, live)


def _refuse(number: int, line: str) -> None:
    raise BenchError(
        f"line {number} of the copy of the HAProxy configuration could send something elsewhere, so nothing was "
        f"started: {line[:120]}"
    )


def _without_comment(line: str) -> str:
    """The line up to a `#` outside quotes."""
    quote = ""
    escaped = False
    for at, letter in enumerate(line):
        if escaped:
            escaped = False
        elif letter == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter == "#":
            return line[:at]
    return line


def _is_time_or_version(match: re.Match[str]) -> bool:
    """`::` alone, as in a format, is no address; neither is 10:30:00."""
    text = match.group("v6")
    return text is not None and re.fullmatch(r":+|\d{1,2}:\d{2}:\d{2}", text) is not None
