"""The command `onewrite`: options, and the exit status of whatever they ask for."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import NoReturn, TypeVar

from onewrite_cli import __version__
from onewrite_cli.check.command import CheckOptions, check
from onewrite_cli.demo import demo
from onewrite_cli.doctor.command import DoctorOptions, doctor
from onewrite_cli.doctor.stream import stream
from onewrite_cli.doctor.verdict import FEWEST
from onewrite_cli.exit_status import ENDING, CouldNotRun, ExitStatus
from onewrite_cli.explain import explain
from onewrite_cli.report.written import FORMATS, writable, write_report
from onewrite_cli.tap_command import tap
from onewrite_cli.watch.command import WatchOptions, watch

__all__ = ["main"]

ABOUT = "Says whether an HTTP client, or the path to a server, loses time to Nagle's algorithm and delayed ACK."
EXIT = "exit status: 0 clean, 1 found, 2 inconclusive, 3 could not run, 130 interrupted"
CHECK = """\
Runs CMD against a server that counts segments and TLS records, and judges how its requests arrive.

  onewrite check -- curl -d hello {url}
  onewrite check --tls -- node client.js {url}
  onewrite check --proxy -- python app.py                  an unmodified program, through HTTP(S)_PROXY
  onewrite check --until 20 -- ./service {url}             a program that does not end
  onewrite check --serve -- python3 -m http.server {port}  a server: how its answers leave

{url}, {https_url}, {body}, {body_file} and {requests} in CMD are filled in; ONEWRITE_CHECK_URL, _HTTPS_URL, _CA_FILE,
_BODY_FILE and _REQUESTS are in its environment. CMD is run again until enough requests came."""
DOCTOR = """\
Sends a few requests to URL in four ways, in turn: in two writes with Nagle on and off, in one write, and in one write
with quick ACKs. Says whether the first hop makes a split request wait, how long bytes were held, and by whom."""

WATCH = """\
Samples every TCP connection of a process and its children, both directions, every 10 ms: TCP_NODELAY, and how often
bytes waited in the kernel for 20 ms or more. Needs Linux, and the right to ptrace the process.

  onewrite watch --pid 4711
  onewrite watch --allow nagle.txt --seconds 30 -- ./service

A line of the ledger is `out 10.0.0.5:5432` or `in :8080`, with * for any text."""


HINTS = {
    "check": "the command comes after two dashes: onewrite check [options] -- curl -d hello {url}",
    "watch": "the command comes after two dashes: onewrite watch [options] -- CMD",
    "doctor": "there is no such option; one URL at a time",
}

Options = TypeVar("Options", CheckOptions, DoctorOptions, WatchOptions)


class _Parser(argparse.ArgumentParser):
    """Wrong options are "could not run", not argparse's 2, which means inconclusive here."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ExitStatus.COULD_NOT_RUN, f"{self.prog}: {message}\n")


def _count(least: int, most: int) -> Callable[[str], int]:
    """An integer from `least` to `most`, as a type for argparse."""

    def number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return value

    return number


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="onewrite", description=ABOUT, epilog=EXIT)
    parser.add_argument("--version", action="version", version=f"onewrite {__version__}")
    commands = parser.add_subparsers(dest="what", metavar="check | doctor | watch | demo | explain | tap", required=True)
    raw = argparse.RawDescriptionHelpFormatter
    _check_options(
        commands.add_parser(
            "check", help="run a program and judge its requests", description=CHECK, epilog=EXIT, formatter_class=raw
        )
    )
    _doctor_options(
        commands.add_parser(
            "doctor", help="ask a URL whether it stalls split requests", description=DOCTOR, epilog=EXIT, formatter_class=raw
        )
    )
    _watch_options(
        commands.add_parser("watch", help="the sockets of a running process", description=WATCH, epilog=EXIT, formatter_class=raw)
    )
    shown = commands.add_parser("demo", help="the stall and its end on this machine, in three seconds", epilog=EXIT)
    shown.add_argument("--requests", type=_count(5, 1000), default=30, help="in each way (default 30)")
    shown.add_argument("-f", "--format", choices=("text", "json"), default="text")
    one = commands.add_parser("explain", help="what a finding means, and what cures it")
    one.add_argument("rule", nargs="?", help="OW101 … OW205, or its name; without one, all")
    _tap_options(commands.add_parser("tap", help="the counting server alone, for any client by hand"))
    return parser


def _check_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "onewrite check [options] -- CMD … {url} …"
    add = parser.add_argument
    add("--requests", type=_count(1, 10_000), default=20, help="how many requests to judge (default 20)")
    add("--until", type=_count(1, 10_000), metavar="N", help="end CMD after N requests, which is a pass: for services")
    add("--body", type=_count(1, 1 << 20), default=200, help="bytes in {body} and {body_file} (default 200)")
    add("--serve", action="store_true", help="CMD is a server on {port}: judge its answers")
    add("--port", type=_count(1, 65_535), help="with --serve: the port of a server that takes no {port}")
    add("--path", default="/", help="with --serve: what to GET (default /)")
    add("--tls", action="store_true", help="{url} is https; with --serve, the server speaks TLS")
    add(
        "--proxy",
        action="store_true",
        help="be the command's HTTP(S)_PROXY; its requests are forwarded to the real services, which act on them",
    )
    add("--rule", dest="rules", action="append", default=[], metavar="NAME=fail|warn|off", help="fail, warn or ignore")
    add("--baseline", type=Path, metavar="FILE", help="an earlier -f json report: fail only if worse")
    add("--timeout", dest="timeout_s", type=_count(1, 86_400), default=120, metavar="S", help="for each run of CMD (default 120)")
    add("-v", "--verbose", dest="show", action="store_true", help="show what CMD prints, on stderr")
    add("-f", "--format", choices=tuple(FORMATS), default="text")
    add("-o", "--output", type=Path, metavar="FILE", help="write the report there, and the text to stdout")


def _doctor_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("url")
    body = parser.add_mutually_exclusive_group()
    body.add_argument("--get", action="store_true", help="GET, its head split in two (default)")
    body.add_argument("--post", metavar="FILE", help="POST this body ('-': stdin)")
    body.add_argument("--post-bytes", type=_count(1, 1 << 20), metavar="N", help="POST N bytes of x")
    add("--header", dest="headers", action="append", default=[], metavar="'Name: value'", help="one more header (repeatable)")
    add("--proxy", default="env", metavar="env|none|URL", help="HTTP proxy (default: as the environment says)")
    add("--samples", type=_count(FEWEST, 100), default=30, help="requests per arm (default 30)")
    add("--ca-file", type=Path, metavar="PEM", help="trust these authorities")
    add("--timeout", dest="timeout_s", type=_count(1, 600), default=15, metavar="S", help="for each request (default 15)")
    add("--stream", action="store_true", help="URL is a stream of events: two requests, and who bunches them")
    add("--yes", action="store_true", help="do not ask before sending")
    add("-f", "--format", dest="form", choices=("text", "json"), default="text")


def _watch_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "onewrite watch [options] (--pid N | -- CMD …)"
    add = parser.add_argument
    add("--pid", type=_count(1, 1 << 22), metavar="N", help="watch this process and its children")
    add("--seconds", type=_count(1, 86_400), metavar="S", help="end after S seconds (default: with the process, or Ctrl-C)")
    add("--allow", type=Path, metavar="FILE", help="a ledger: sockets that may have Nagle on; any other one is a finding")
    add("-f", "--format", choices=("text", "json"), default="text")


def _tap_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--port", type=_count(0, 65_535), default=8080, help="0 takes any free port (default 8080)")
    add("--tls", action="store_true")
    add("--mss", type=_count(88, 65_535), help="segment size to offer (1448 is an Ethernet's)")
    add("--delay-ms", type=_count(0, 600_000), default=0, help="answer after this time")
    add("--trace", action="store_true", help="print every read and write")
    add("-f", "--format", choices=("text", "json"), default="text", help="json: a line with the URL, then one per request")


def _run(arguments: list[str]) -> ExitStatus:
    command: list[str] = []
    if arguments[:1] in (["check"], ["watch"]) and "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1 :]
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments, argparse.Namespace(command=command))
    if unknown:
        parser.error(f"{' '.join(unknown)}: {HINTS.get(options.what, 'there is no such option')}")
    if options.what == "explain":
        return explain(options.rule)
    if options.what == "watch":
        return watch(_filled(WatchOptions, options))
    if options.what == "demo":
        return demo(options.requests, options.format)
    if options.what == "tap":
        return tap(
            options.port,
            tls=options.tls,
            mss=options.mss,
            delay_ms=options.delay_ms,
            trace=options.trace,
            form=options.format,
        )
    if options.what == "doctor":
        return (stream if options.stream else doctor)(_filled(DoctorOptions, options))
    if not command:
        raise CouldNotRun("say the command after two dashes: onewrite check -- curl -d hello {url}")
    writable(options.output)
    report = check(_filled(CheckOptions, options))
    write_report(report, options.format, options.output)
    return report.exit_status


def _filled(kind: type[Options], said: argparse.Namespace) -> Options:
    """The options of a command; argparse stores each under the name of its field."""
    return kind(**{one.name: getattr(said, one.name) for one in fields(kind)})


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
        at = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error} ({Path(at.filename).name}:{at.lineno})"
        return _fail(" ".join(what.split()), ExitStatus.COULD_NOT_RUN)


def _open_standard_files() -> None:
    """A closed one would be taken by the next file that is opened."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open("/dev/full" if number else os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")


def _fail(text: str, status: ExitStatus) -> ExitStatus:
    """Say why, if anybody can hear it. What stdout could not take is dropped, or Python would end with another status."""
    try:
        print(f"onewrite: {text}", file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status
