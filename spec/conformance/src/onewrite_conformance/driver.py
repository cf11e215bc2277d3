"""Speaks the driver protocol (PROTOCOL.md) to one driver process.

What goes wrong with the driver itself is a DriverFault, what the driver cannot do is DriverSkipped.
Neither says anything about the library under test: a library's error is an ordinary reply.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import jsonschema

from onewrite_conformance.contract.places import SCHEMAS

__all__ = [
    "Driver",
    "DriverFault",
    "DriverSkipped",
    "OpenRefused",
    "capabilities",
    "misfit",
    "run_file",
    "unknown_capabilities",
]

# What a driver did wrong, by kind.
FAULTS = {
    "not_started": "the command could not be run",
    "hung": "no reply in time",
    "noise": "stdout carried something that is no protocol message",
    "exited": "the process ended before it replied",
    "bad_message": "a reply does not fit schemas/driver-v2.schema.json",
    "crashed": "the driver reported a crash of its own",
}


class DriverFault(Exception):
    """The driver, not the library, failed. `kind` is one of FAULTS; `detail` says more; `log` is its last stderr."""

    def __init__(self, kind: str, detail: str, log: str = "") -> None:
        self.kind, self.detail, self.log = kind, detail, log
        tail = f"\n--- last stderr of the driver\n{log}" if log else ""
        super().__init__(f"driver fault ({kind}: {FAULTS[kind]}): {detail}{tail}")


class DriverSkipped(Exception):
    """The driver cannot carry out a command; the text has the reason."""


class OpenRefused(Exception):
    """The library refused the options of `open`; `reply` has outcome "error" as a request's reply would."""

    def __init__(self, reply: dict[str, Any]) -> None:
        self.reply = reply
        super().__init__(str(reply.get("error")))


@lru_cache
def _validator(command: str) -> Any:
    definitions = json.loads((SCHEMAS / "driver-v2.schema.json").read_text())["$defs"]
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{command}", "$defs": definitions})


@lru_cache
def capabilities() -> frozenset[str]:
    """The capabilities of PROTOCOL.md."""
    schema = json.loads((SCHEMAS / "driver-v2.schema.json").read_text())
    return frozenset(schema["$defs"]["capability"]["enum"])


def unknown_capabilities(hello: dict[str, Any]) -> list[str]:
    """What a driver claims that PROTOCOL.md does not have."""
    return sorted(set(hello.get("capabilities", ())) - capabilities())


def misfit(command: str, reply: dict[str, Any]) -> str | None:
    """The first fault of a reply to this command by the schema, or None."""
    error = jsonschema.exceptions.best_match(_validator(command).iter_errors(reply))
    if error is None:
        return None
    where = "/".join(str(part) for part in error.absolute_path) or "reply"
    return f"{where}: {error.message[:400]}"


def _shape(message: dict[str, Any]) -> tuple[object, ...]:
    """Of replies with the same keys, outcome, error kind and event names one is checked: that takes a millisecond."""
    error = message.get("error") or {}
    results = message.get("results")
    return (
        tuple(sorted(message)),
        message.get("outcome"),
        tuple(error.items())[:2] if isinstance(error, dict) else "?",
        _event_names(message.get("records") or ()),
        tuple(_shape(result) if isinstance(result, dict) else "?" for result in results)
        if isinstance(results, list)
        else None,
    )


def _event_names(records: Any) -> str:
    try:
        return repr([[name for name, _ in record["events"]] for record in records])
    except (KeyError, TypeError, ValueError):
        return f"not well formed: {records!r}"


class Driver:
    """One driver process serving one client kind.

    `command` is the argument list, usually `[".../driver/run"]`. `env` is added to this process's environment;
    variables that begin with ONEWRITE_ are not inherited, so that a user's shell cannot change a verdict.
    `timeout_s` bounds the silence after each command; a longer wait is a DriverFault("hung") and the process is
    ended. A request's own `timeout_ms` and `cancel_after_ms`, and a load's `seconds`, are added to it.
    """

    def __init__(
        self, command: list[str], client: str, env: dict[str, str] | None = None, timeout_s: float = 30.0
    ) -> None:
        self.command = command
        self.client = client
        self.timeout_s = timeout_s
        self.hello: dict[str, Any] = {}
        self._seq = 0
        self._unread = bytearray()
        self._early: dict[int, dict[str, Any]] = {}
        self._log: deque[str] = deque(maxlen=60)
        self._seen: set[object] = set()
        self._fault: DriverFault | None = None
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ONEWRITE_")}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=inherited | (env or {}),
                start_new_session=True,
            )
        except OSError as error:
            raise DriverFault("not_started", f"{' '.join(command)}: {error}") from error
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()
        try:
            self.hello = self._call({"cmd": "hello", "client": client})
        except BaseException:
            self.end()
            raise

    # -- commands ------------------------------------------------------------------------------------------

    @property
    def pid(self) -> int:
        """The pid of the process that owns the sockets."""
        return int(self.hello.get("pid") or self._process.pid)

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset(self.hello.get("capabilities", ()))

    @property
    def alive(self) -> bool:
        return self._fault is None and self._process.poll() is None

    def log(self) -> str:
        """The last lines of the driver's stderr."""
        return "\n".join(self._log)

    def open(self, **options: Any) -> int:
        """Open a client with these options; return its id. Raises OpenRefused when the library refuses them."""
        reply = self._call({"cmd": "open", "options": options})
        if reply.get("outcome") == "error":
            raise OpenRefused(reply)
        return int(reply["client_id"])

    def close(self, client_id: int) -> None:
        """Close a client and its pooled connections."""
        self._call({"cmd": "close", "client_id": client_id})

    def request(self, client_id: int, method: str, url: str, **fields: Any) -> dict[str, Any]:
        """Make one request; return the driver's reply. Fields: headers, body, timeout_ms, cancel_after_ms, read."""
        command = {"cmd": "request", "client_id": client_id, "method": method, "url": url, **fields}
        return self._call(command, _patience([fields]))

    def batch(self, client_id: int, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Start requests together; return their results in the order given."""
        reply = self._call({"cmd": "batch", "client_id": client_id, "requests": requests}, _patience(requests))
        results: list[dict[str, Any]] = reply["results"]
        if len(results) != len(requests):
            raise self._failed("bad_message", f"{len(requests)} requests in a batch, {len(results)} results")
        for result in results:
            self._raise_unless_result(result)
        _hand_out(reply.get("records") or [], requests, results)
        return results

    def load(self, client_id: int, url: str, **fields: Any) -> dict[str, Any]:
        """Make many requests; return their latencies. Fields as in PROTOCOL.md."""
        seconds = float(fields.get("seconds") or 0.0)
        count = fields.get("count") or 0
        # A stalled request takes 45 ms and some peers hold 200: a count may cost that much each.
        patience = seconds + 0.25 * count / max(1, fields.get("connections") or 1)
        return self._call({"cmd": "load", "client_id": client_id, "url": url, **fields}, patience)

    def serve(self, client_id: int, upstream: str) -> int:
        """Start the bridge service; return the port it listens on."""
        return int(self._call({"cmd": "serve", "client_id": client_id, "upstream": upstream})["port"])

    def bye(self) -> None:
        """End the process: first with `bye`, then by a signal."""
        if self.alive:
            with contextlib.suppress(DriverFault):
                self._call({"cmd": "bye"}, allowed=5.0)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5.0)
        self.end()

    def end(self) -> None:
        """End the process group at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(timeout=5.0)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def __enter__(self) -> Driver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bye()

    # -- the pipe ------------------------------------------------------------------------------------------

    def _call(self, command: dict[str, Any], patience: float = 0.0, allowed: float | None = None) -> dict[str, Any]:
        if self._fault is not None:
            raise self._fault
        self._seq += 1
        seq = self._seq
        name = command["cmd"]
        line = json.dumps({"cmd": name, "seq": seq, **command}, separators=(",", ":")).encode() + b"\n"
        assert self._process.stdin is not None
        # A process that has ended may have left the reason on stdout: it is read in any case.
        with contextlib.suppress(OSError):
            self._process.stdin.write(line)
            self._process.stdin.flush()
        reply = self._reply(seq, name, (self.timeout_s if allowed is None else allowed) + patience)
        self._check(name, reply)
        return reply

    def _reply(self, seq: int, name: str, allowed: float) -> dict[str, Any]:
        deadline = time.monotonic() + allowed
        while seq not in self._early:
            line = self._read_line(deadline)
            if line is None:
                raise self._failed("hung", f"no reply to `{name}` within {allowed:g} s; the process was ended")
            if not line:
                raise self._exited(name)
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict):
                raise self._failed("noise", f"after `{name}`: {line[:200]!r}")
            if not isinstance(message.get("seq"), int) or message["seq"] > self._seq:
                raise self._failed("bad_message", f"after `{name}`: no seq that was asked for: {line[:200]!r}")
            self._early[message["seq"]] = message
        return self._early.pop(seq)

    def _check(self, name: str, reply: dict[str, Any]) -> None:
        self._raise_unless_result(reply)
        shape = (name, _shape(reply))
        if shape in self._seen:
            return
        problem = misfit(name, reply)
        if problem is not None:
            raise self._failed("bad_message", f"reply to `{name}`: {problem}")
        if name == "hello" and reply["client"] != self.client:
            raise self._failed("bad_message", f"asked for client {self.client}, the driver is {reply['client']}")
        self._seen.add(shape)

    def _raise_unless_result(self, reply: dict[str, Any]) -> None:
        if "skipped" in reply:
            raise DriverSkipped(str(reply["skipped"]))
        if "crashed" in reply:
            # The process may well be able to go on; only this command is lost.
            raise DriverFault("crashed", str(reply["crashed"])[-2000:], self.log())

    def _failed(self, kind: str, detail: str) -> DriverFault:
        self.end()  # which reads the last of stderr
        self._fault = DriverFault(kind, detail, self.log())
        return self._fault

    def _exited(self, name: str) -> DriverFault:
        try:
            status: int | None = self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            return self._failed("exited", f"stdout was closed before the reply to `{name}`")
        return self._failed("exited", f"exit status {status} before the reply to `{name}`")

    def _read_line(self, deadline: float) -> bytes | None:
        """The next line of stdout; b"" at its end, None when the time ran out. Read here and not by a thread of its
        own: each hand-over between threads costs a request more than the request itself."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while (end := self._unread.find(b"\n")) < 0:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([descriptor], [], [], left)[0]:
                return None
            data = os.read(descriptor, 1 << 20)
            if not data:
                return b""
            self._unread += data
        line = bytes(self._unread[: end + 1])
        del self._unread[: end + 1]
        return line

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        try:
            for line in self._process.stderr:
                self._log.append(line.decode("utf-8", "replace").rstrip("\n"))
        except (OSError, ValueError):
            pass


def _hand_out(records: list[dict[str, Any]], requests: list[dict[str, Any]], results: list[dict[str, Any]]) -> None:
    """Give each result the records of a batch whose method and path are its request's, one result after the other."""
    for record in records:
        path = urlsplit(record.get("url") or "").path
        fitting = [
            result
            for request, result in zip(requests, results, strict=True)
            if request.get("method") == record.get("method") and urlsplit(request["url"]).path == path
        ] or results
        min(fitting, key=lambda result: len(result.setdefault("records", [])))["records"].append(record)


def _patience(requests: list[dict[str, Any]]) -> float:
    """How much longer than usual these requests may take, in seconds."""
    longest = 0
    for request in requests:
        chunks = (request.get("body") or {}).get("chunks") or ()
        gaps = ((request.get("body") or {}).get("gap_ms") or 0) * len(chunks)
        longest = max(longest, (request.get("timeout_ms") or 0) + (request.get("cancel_after_ms") or 0) + gaps)
    return longest / 1000


def run_file(folder: Path) -> list[str]:
    """The command of the driver in a language's folder."""
    return [str(folder / "driver" / "run")]
