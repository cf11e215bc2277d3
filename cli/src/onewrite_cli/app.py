"""The command `onewrite`: options, and the exit status of each command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

from onewrite_cli import __version__
from onewrite_cli.common.exit_status import ENDING, CouldNotRun, ExitStatus
from onewrite_cli.common.terminal import print_err, print_out, wrapped

__all__ = ["main"]

ABOUT = "Shows whether an HTTP client, a server, or the path between them loses time to Nagle's algorithm and delayed ACK."
EXIT = "exit status: 0 clean, 1 found, 2 inconclusive, 3 could not run, 130 interrupted"
CHECK = """\
Runs CMD against a server that counts segments; judges how its requests arrive.
With {port} CMD is a server, and its answers are judged. Without CMD it listens.
  onewrite check -- curl -d hello {url}
  onewrite check -- python3 -m http.server {port}"""
DOCTOR = """\
Sends a few requests to URL in two writes and in one, with Nagle on and off.
Does a hop make a split request wait? Does the server refuse one of both?"""
WATCH = """\
Samples every TCP connection of a process and its children, every 10 ms.
Needs Linux, and the right to ptrace the process.

  onewrite watch --pid 4711
  onewrite watch --seconds 30 -- ./service"""
HINTS = {
    **{what: f"the command comes after two dashes: onewrite {what} [options] -- CMD" for what in ("check", "watch")},
    "doctor": "there is no such option; one URL at a time",
}
FORMATS = ("text", "json", "github")
FEWEST = 5  # samples of the doctor

Options = TypeVar("Options")


class _Help(argparse.RawDescriptionHelpFormatter):
    """A line of a description stays a line, as wide as the terminal at most."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        indents = [line[: len(line) - len(line.lstrip())] for line in text.splitlines()]
        return "\n".join("\n".join(wrapped(line, "", own)) for line, own in zip(text.splitlines(), indents, strict=True))


class _Parser(argparse.ArgumentParser):
    """Wrong options are "could not run", not argparse's 2, which means inconclusive here."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _Help, "epilog": EXIT, **options})

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ExitStatus.COULD_NOT_RUN, f"{self.prog}: {message}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        (print_out if file is sys.stdout else print_err)(message.rstrip("\n"))


def _count(least: int, most: int) -> Callable[[str], int]:
    """An integer from `least` to `most`, as a type for argparse."""

    def number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return value

    return number


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="onewrite", description=ABOUT)
    parser.add_argument("--version", action="version", version=f"onewrite {__version__}")
    commands = parser.add_subparsers(dest="what", metavar="COMMAND", required=True)
    _check_options(commands.add_parser("check", help="run a program and judge its requests or answers", description=CHECK))
    _doctor_options(commands.add_parser("doctor", help="does the path to a URL stall?", description=DOCTOR))
    _watch_options(commands.add_parser("watch", help="the sockets of a running process", description=WATCH))
    one = commands.add_parser("explain", help="what a finding or a cause means, and what cures it")
    one.add_argument("rule", nargs="?", help="OW101 … OW205 or its name, or a cause; without it, all")
    return parser


def _check_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "onewrite check [options] [-- CMD …]"
    add, count = parser.add_argument, _count(1, 10_000)
    add("--requests", type=count, default=20, metavar="N", help="how many to judge (default 20)")
    add("--until", type=count, metavar="N", help="end after N requests, which is a pass")
    add("--body", type=_count(1, 1 << 20), default=200, metavar="N", help="bytes in {body} and {body_file} (default 200)")
    add("--tls", action="store_true", help="{url} is https, or the server speaks TLS")
    add("--proxy", action="store_true", help="be CMD's proxy: requests go on to the real services")
    add("--port", type=_count(0, 65_535), metavar="N", help="of a server without {port}; without CMD: listen there")
    add("--path", default="/", help="what to GET of a server (default /)")
    add("--rule", dest="rules", action="append", default=[], metavar="RULE=WORD", help="what a rule does: fail, warn or off")
    add("--strict", action="store_true", help="fail for what costs no time, too")
    add("--timeout", dest="timeout_s", type=_count(1, 86_400), default=120, metavar="S", help="for a run of CMD (default 120)")
    add("-v", "--verbose", dest="show", action="store_true", help="show the output of CMD, on stderr")
    add("-f", "--format", choices=FORMATS, default="text", metavar="F", help="text, json or github")
    add("-o", dest="outputs", action="append", default=[], metavar="FILE", help="a report there, too (F=FILE: in format F)")
    add("--output", dest="outputs", action="append", help=argparse.SUPPRESS)  # the long name of -o


def _doctor_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "onewrite doctor [options] URL"
    add = parser.add_argument
    add("url", metavar="URL")
    body = parser.add_mutually_exclusive_group()
    body.add_argument("--get", action="store_true", help="GET, its head split in two (default)")
    body.add_argument("--post", metavar="FILE", help="POST this body ('-': stdin)")
    body.add_argument("--post-bytes", type=_count(1, 1 << 20), metavar="N", help="POST N bytes of x")
    add("--header", dest="headers", action="append", default=[], metavar="HEADER", help="'Name: value', one or more times")
    add("--proxy", default="env", metavar="env|none|URL", help="default: as the environment says")
    add("--samples", type=_count(FEWEST, 100), default=30, metavar="N", help="requests per way (default 30)")
    add("--ca-file", type=Path, metavar="PEM", help="trust these authorities")
    add("--timeout", dest="timeout_s", type=_count(1, 600), default=15, metavar="S", help="for each request (default 15)")
    add("--stream", action="store_true", help="URL is a stream of events: are they bunched?")
    add("--yes", action="store_true", help="do not ask before sending")
    add("-f", "--format", choices=("text", "json"), default="text", metavar="F", help="text or json")


def _watch_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "onewrite watch [options] (--pid N | -- CMD …)"
    add = parser.add_argument
    add("--pid", type=_count(1, 1 << 22), metavar="N", help="watch this process and its children")
    add("--seconds", type=_count(1, 86_400), metavar="S", help="end after S seconds (default: with the process)")
    add("-f", "--format", choices=("text", "json"), default="text", metavar="F", help="text or json")


def _run(arguments: list[str]) -> ExitStatus:
    """Each command imports what it needs: the others' imports would delay its start."""
    command: list[str] = []
    if arguments[:1] in (["check"], ["watch"]) and "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1 :]
        if not command:
            raise CouldNotRun("there is no command after the two dashes")
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments, argparse.Namespace(command=command))
    if unknown:
        parser.error(f"{' '.join(unknown)}: {HINTS.get(options.what, 'there is no such option')}")
    if options.what == "explain":
        from onewrite_cli.explain import explain

        return explain(options.rule)
    if options.what == "watch":
        from onewrite_cli.watch.command import WatchOptions, watch

        return watch(_filled(WatchOptions, options))
    if options.what == "doctor":
        from onewrite_cli.doctor.command import DoctorOptions, doctor

        if not options.stream:
            return doctor(_filled(DoctorOptions, options))
        from onewrite_cli.doctor.stream import stream

        return stream(_filled(DoctorOptions, options))
    from onewrite_cli.check.command import CheckOptions, check
    from onewrite_cli.common.report import Output, write_report

    outputs = [Output.named(text, options.format) for text in options.outputs]
    for output in outputs:
        output.examine(command)
    report = check(_filled(CheckOptions, options))
    write_report(report, options.format, outputs)
    return report.exit_status


def _filled(kind: type[Options], parsed: argparse.Namespace) -> Options:
    """The options of a command; argparse stores each under the name of its field."""
    names = (one.name for one in fields(kind))  # type: ignore[arg-type]
    return kind(**{name: getattr(parsed, name) for name in names})


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run it; returns the exit status. Whatever goes wrong inside is "could not run", never "found"."""
    _open_standard_files()
    # These end the command under test as well. A shell starts background jobs with SIGINT ignored, nohup with SIGHUP.
    for number in ENDING:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminated)
    try:
        status = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return status
    except CouldNotRun as problem:
        return _fail(str(problem), ExitStatus.COULD_NOT_RUN)
    except KeyboardInterrupt:
        return _fail("interrupted", ExitStatus.INTERRUPTED)
    except Exception as error:
        import traceback

        at = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
        return _fail(" ".join(what.split()), ExitStatus.COULD_NOT_RUN)


def _open_standard_files() -> None:
    """A closed one would be taken by the next file that is opened, and its sys.stdout is None."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.dup2(os.open("/dev/full" if number else os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "w" if number else "r"))
    for output in (sys.stdout, sys.stderr):
        if hasattr(output, "reconfigure"):
            output.reconfigure(errors="replace")  # of a locale without the characters of a report


def _fail(text: str, status: ExitStatus) -> ExitStatus:
    """Print why. What stdout could not take is dropped, or Python would end with another status."""
    print_err(f"onewrite: {text}")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status
