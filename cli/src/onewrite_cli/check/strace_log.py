"""Reads the lines of `strace -f -yy -xx -ttt -o FILE`: one call each, with its descriptor's connection and its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Call", "read_log"]

#: pid, seconds, name, arguments, result
LINE = re.compile(r"^(\d+) +(\d+\.\d+) (\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?.*$", re.S)
UNFINISHED = re.compile(r"^(\d+) +(\d+\.\d+) (\w+)\((.*) <unfinished \.\.\.>$", re.S)
RESUMED = re.compile(r"^(\d+) +\d+\.\d+ <\.\.\. (\w+) resumed>(.*)$", re.S)
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(frozen=True)
class Call:
    """`socket` is strace's description, as `TCP:[127.0.0.1:40000->127.0.0.1:80]` or `TCP:[12345]`; "" for no socket."""

    pid: int
    t_ns: int
    name: str
    descriptor: int
    socket: str
    arguments: str
    result: int

    @property
    def connection(self) -> str | None:
        """`client->server` of a connected TCP socket."""
        match = re.match(r"TCP(?:v6)?:\[(.*->.*)\]$", self.socket)
        return match.group(1) if match else None

    def data(self) -> bytes:
        """The bytes that strace captured, of all buffers in a row: perhaps fewer than `result`."""
        return b"".join(bytes.fromhex(text.replace("\\x", "")) for text in STRING.findall(self.arguments))


def read_log(lines: Iterator[str]) -> Iterator[Call]:
    """The finished calls, in the order of their beginning as far as the log has it."""
    begun: dict[tuple[str, str], tuple[str, str]] = {}
    for raw in lines:
        line = raw.rstrip("\n")
        if unfinished := UNFINISHED.match(line):
            pid, at, name, arguments = unfinished.groups()
            begun[pid, name] = (at, arguments)
            continue
        if resumed := RESUMED.match(line):
            pid, name, rest = resumed.groups()
            if (pid, name) not in begun:
                continue
            at, arguments = begun.pop((pid, name))
            line = f"{pid} {at} {name}({arguments}{rest}"
        if match := LINE.match(line):
            yield _call(match)


def _call(match: re.Match[str]) -> Call:
    pid, at, name, arguments, result, made = match.groups()
    seconds, _, fraction = at.partition(".")
    t_ns = int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))
    first = _descriptor(arguments)
    if name == "socket":
        return Call(int(pid), t_ns, name, int(result), made or "", arguments, int(result))
    return Call(int(pid), t_ns, name, first[0], first[1], arguments, int(result))


def _descriptor(arguments: str) -> tuple[int, str]:
    """The number and the description at the head of the arguments; the description itself holds `->`."""
    match = re.match(r"^(\d+)<((?:TCP|TCPv6|UNIX|UDP|NETLINK)[^\]]*\](?:[^\]>]*\])*)", arguments)
    if match:
        return int(match.group(1)), match.group(2)
    number = re.match(r"^(\d+)", arguments)
    return (int(number.group(1)) if number else -1), ""
