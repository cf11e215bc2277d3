"""Writes the table of CONTRIBUTING.md that says where each concept lives in each language, and checks that it is there.

usage: twins.py [--check]      exit: 0 up to date, 1 stale, or a file that the table names is missing
Python, Ruby and Node use the same name for the same concept, spelled in each language's own way; a name that the rule
does not give is listed below with its reason. A language that lacks the concept lacks the file.
"""

# ruff: noqa: E501 - a table
from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- twins:begin -->\n", "<!-- twins:end -->\n"
LANGUAGES = ("python", "ruby", "node", "java")
JAVA = {
    "core": "java/core/src/main/java/io/github/onewrite/",
    "netty": "java/netty/src/main/java/io/github/onewrite/netty/",
    "client": "java/client/src/main/java/io/github/onewrite/client/",
    "okhttp": "java/okhttp/src/main/java/io/github/onewrite/okhttp/",
}
#: room, file, what it is, the Java files (module, class), and languages where it stands elsewhere (None: not there).
CONCEPTS: list[tuple[str, str, str, list[tuple[str, str]], dict[str, str | None]]] = [
    ("", "config", "options and environment", [("core", "OnewriteConfig")], {}),
    ("", "errors", "exceptions, error kinds and phases", [("core", "OnewriteException"), ("core", "ErrorKind")], {}),
    ("", "base_version", "the base library's version, and whether it is supported", [], {}),  # Java: Maven says which
    ("", "install", "switch on and off; status()", [], {}),  # Java patches nothing: the customizers are explicit
    ("wire", "nodelay", "TCP_NODELAY set and read back", [("netty", "Nodelay"), ("okhttp", "NodelaySocketFactory")], {}),
    ("wire", "coalesce", "joins head and body into one write", [("netty", "CoalesceHandler"), ("okhttp", "CoalescingOutput")], {}),
    ("wire", "body", "kinds of bodies, and whether they may be held", [("client", "internal/BodySource")], {}),
    ("wire", "validate", "checks before the first byte", [("client", "internal/RequestValidator"), ("okhttp", "RequestValidator")], {"node": "http/validate"}),
    ("wire", "quickack", "TCP_QUICKACK", [("netty", "EpollProbe")], {"node": None}),  # Node cannot set it
    ("timing", "record", "the finished Timing, its text and dict", [("core", "Timing")], {}),
    ("timing", "call", "a call while it runs", [("core", "spi/CallTimer"), ("core", "spi/TimedCall")], {}),
    ("timing", "attempt", "one attempt of a call", [("core", "Attempt")], {}),
    ("timing", "connection", "the connection of an attempt", [("netty", "NettyConnection")], {"ruby": "net_http/connection"}),
    ("timing", "hooks", "the program's hooks and listeners", [("core", "spi/Hooks"), ("core", "TimingListener")], {}),
    ("timing", "events", "the events that hooks receive", [("core", "TimingEvent")], {}),
    ("timing", "kernel", "TCP_INFO", [("core", "Kernel"), ("netty", "EpollProbe")], {"node": None}),  # Node cannot read TCP_INFO
    ("timing", "cause", "the cause of a long wait", [("core", "Cause")], {"node": None}),  # Node cannot read TCP_INFO
    ("timing", "server_timing", "the server's own time, from Server-Timing", [("core", "ServerTiming"), ("core", "spi/ServerTimings")], {}),
    ("timing", "mappers", "OpenTelemetry, W3C, HAR", [("core", "TimingMappers")], {"python": "mappers"}),  # public, so not below _timing
]


def file_of(language: str, room: str, name: str, elsewhere: dict[str, str | None]) -> str | None:
    """The path of a concept's file by the rule, or by its exception."""
    if language in elsewhere:
        given = elsewhere[language]
        if given is None:
            return None
        room, _, name = given.rpartition("/")
    if language == "python":
        public = name == "mappers"
        return f"python/src/onewrite/{f'_{room}/' if room else ''}{'' if room or public else '_'}{name}.py"
    if language == "ruby":
        return f"ruby/lib/onewrite/{f'{room}/' if room else ''}{name}.rb"
    return f"node/src/{f'{room}/' if room else ''}{name.replace('_', '-')}.js"


def rows() -> tuple[list[str], list[str]]:
    """The lines of the table, and the files that it names in vain."""
    lines = ["| room | concept | is | Python | Ruby | Node | Java |", "|---|---|---|---|---|---|---|"]
    missing = []
    for room, name, means, java, elsewhere in CONCEPTS:
        cells = []
        for language in LANGUAGES:
            files = [JAVA[module] + f"{one}.java" for module, one in java]
            if language != "java":
                path = file_of(language, room, name, elsewhere)
                files = [] if path is None else [path]
            missing += [file for file in files if not (ROOT / file).is_file()]
            cells.append(", ".join(f"[{Path(file).stem}]({file})" for file in files) or "–")
        lines.append(f"| {room} | {name} | {means} | {' | '.join(cells)} |")
    return lines, missing


def main() -> int:
    lines, missing = rows()
    for file in missing:
        print(f"{file} is not there: move the file, or tell docs/tools/twins.py why its language differs", file=sys.stderr)
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    wanted = before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1]
    if wanted != text:
        if "--check" in sys.argv[1:]:
            print("CONTRIBUTING.md is stale: run `make -C docs generate`", file=sys.stderr)
            return 1
        PAGE.write_text(wanted, encoding="utf-8")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
