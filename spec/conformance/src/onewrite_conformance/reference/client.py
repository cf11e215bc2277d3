"""The reference client: a pool, and calls made of attempts."""

from __future__ import annotations

import hashlib
import itertools
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from onewrite_conformance.reference.attempt import Answered, Attempt
from onewrite_conformance.reference.bodies import make_body
from onewrite_conformance.reference.connection import Connection, Deadline
from onewrite_conformance.reference.errors import CallError, Cancelled
from onewrite_conformance.reference.floor import check
from onewrite_conformance.reference.mutants import broken
from onewrite_conformance.reference.settings import Settings
from onewrite_conformance.reference.timing import Recorder

__all__ = ["Client"]

REDIRECTS = (301, 302, 303, 307, 308)
IDEMPOTENT = ("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE")
MOST_REDIRECTS = 5


TOLD: dict[str, set[str]] = {"none": set(), "on_timing": {"record"}, "listener": {"events"}}  # others: both

leaked: list[Connection] = []  # only with the leaky_pool mutant


class Client:
    """A client with a pool of `pool_size` connections per origin."""

    def __init__(self, kind: str, options: dict[str, Any]) -> None:
        self.settings = self._installed = Settings(kind, options)
        self.options = options
        self._told = TOLD.get(options.get("hooks", "none"), {"record", "events"})
        self._hook_errors = 0
        self._idle: list[Connection] = []
        self._busy: dict[tuple[str, str, int], int] = {}
        self._free = threading.Condition()
        self._numbers = itertools.count(1)
        self._context = _tls_context(options.get("tls_ca"))

    def close(self) -> None:
        with self._free:
            for connection in self._idle:
                if not broken("leaky_pool"):
                    connection.close()
            leaked.extend(self._idle if broken("leaky_pool") else ())
            self._idle.clear()

    def api(self, do: str) -> dict[str, Any]:
        """Put in, take out, or remove the listener; return the state."""
        if do == "uninstall" and not broken("uninstall"):
            self.settings, self._told = Settings("stock", {}), set()
        elif do == "install" and not broken("installs_once"):
            self.settings = self._installed
        elif do == "remove":
            self._told = self._told - ({"events"} if not broken("handle") else {"record", "events"})
        if broken("state"):
            return {"in_force": True, "hooks": False, "hook_errors": 0}
        return {"in_force": self.settings.own, "hooks": bool(self._told), "hook_errors": self._hook_errors}

    # -- one call -----------------------------------------------------------------------------------------

    def request(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make one call and report it as the driver protocol wants."""
        told = self._told if self.settings.hooks else set()
        if (broken("lone_on_timing") and told == {"record"}) or (broken("lone_listener") and told == {"events"}):
            told = set()
        recorder = Recorder(message["method"], message["url"], _hook(self.options["hooks"]) if told else None)
        started = time.monotonic_ns()
        try:
            recorder.start_call()
            answered = self._call(message, recorder)
            recorder.end_call("ok")
            reply = _response(answered)
        except Cancelled as error:
            recorder.end_call("cancelled", error.kind, error.phase or recorder.phase)
            reply = {"outcome": "cancelled", "error": _error(error, recorder)}
        except HookError as error:  # only with the raising_hook mutant
            reply = {"outcome": "error", "error": {"kind": "other", "type": "RuntimeError", "message": str(error)}}
        except CallError as error:
            recorder.end_call("error", error.kind, error.phase or recorder.phase)
            reply = {"outcome": "error", "error": _error(error, recorder)}
        reply["elapsed_us"] = (time.monotonic_ns() - started) // 1000
        self._hook_errors += recorder.hook_errors
        if "record" in told:
            reply |= {"timing": recorder.record(), "timings": 1}
        if "events" in told:
            reply["events"] = recorder.events
        return reply

    def _call(self, message: dict[str, Any], recorder: Recorder) -> Answered:
        deadline = Deadline(message.get("timeout_ms"), message.get("cancel_after_ms"))
        method, url = message["method"], message["url"]
        headers = [list(pair) for pair in message.get("headers") or ()]
        body_spec = message.get("body")
        retries = int(self.options.get("retries") or 0)
        hops = 0
        while True:
            parts = urllib.parse.urlsplit(url)
            body = make_body(body_spec)
            attempt = Attempt(self.settings, self.options, recorder, deadline)
            target = _raw_target(url) if url == message["url"] else parts.path or "/"
            if self.settings.own and broken("no_attempt"):
                check(method, target, headers, body)
            recorder.start_attempt()
            try:
                if self.settings.own:
                    check(method, target, headers, body)
                answered = self._attempt(attempt, method, url, headers, body, message.get("read") == "none")
            except CallError as error:
                error.phase = error.phase or recorder.phase
                recorder.end_attempt("cancelled" if error.kind == "cancelled" else "error", error.kind)
                if self._again(method, error, attempt, retries):
                    retries -= 1
                    continue
                raise
            recorder.end_attempt("ok")
            location = answered.header("location")
            if not (self.options.get("redirects") and answered.status in REDIRECTS and location):
                return answered
            hops += 1
            if hops > MOST_REDIRECTS:
                raise CallError("other", f"more than {MOST_REDIRECTS} redirects")
            following = urllib.parse.urljoin(url, location)
            if urllib.parse.urlsplit(following).netloc != parts.netloc:
                secret = ("authorization", "cookie", "proxy-authorization")
                headers = [pair for pair in headers if pair[0].lower() not in secret]
            if answered.status in (301, 302, 303) and method != "HEAD":
                method, body_spec = "GET", None
            url = following

    def _again(self, method: str, error: CallError, attempt: Attempt, retries: int) -> bool:
        """Whether to try again: the user asked for it, or a used connection turned out dead before it answered."""
        broke = error.kind in ("reset", "closed")
        if method == "POST":
            return broken("dup_post") and broke
        if method not in IDEMPOTENT or error.kind not in ("reset", "closed", "connect"):
            return False
        return retries > 0 or (broke and attempt.reused and not attempt.heard)

    # -- one attempt --------------------------------------------------------------------------------------

    def _attempt(
        self, attempt: Attempt, method: str, url: str, headers: list[list[str]], body: Any, leave: bool
    ) -> Answered:
        parts = urllib.parse.urlsplit(url)
        origin = (parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        connection = self._acquire(origin, attempt)
        reusable = False
        try:
            answered = attempt.exchange(connection, method, url, headers, body, leave=leave)
            reusable = attempt.reusable and not broken("no_keepalive") and self.options.get("keepalive", True)
            return answered
        finally:
            attempt.recorder.event("connection_released", reusable=reusable)
            self._release(origin, connection, reusable)

    def _acquire(self, origin: tuple[str, str, int], attempt: Attempt) -> Connection:
        recorder = attempt.recorder
        size = int(self.options.get("pool_size") or 1)
        limit_ms = self.options.get("pool_timeout_ms")
        limit = None if limit_ms is None else time.monotonic() + limit_ms / 1000
        recorder.phase = "queue"
        with self._free:
            if self._busy.get(origin, 0) >= size:
                recorder.event("queue_start")
                while self._busy.get(origin, 0) >= size:
                    left = attempt.deadline.left()
                    if limit is not None:
                        remaining = limit - time.monotonic()
                        if remaining <= 0:
                            raise CallError("pool", "no connection was free in time", "queue")
                        left = remaining if left is None else min(left, remaining)
                    self._free.wait(left)
                recorder.event("queue_end")
            self._busy[origin] = self._busy.get(origin, 0) + 1
            connection = self._idle_connection(origin)
        try:
            if connection is None:
                connection = attempt.connect(next(self._numbers), origin, self._context)
            attempt.acquired(connection)
            return connection
        except BaseException:
            self._release(origin, None, False)
            raise

    def _idle_connection(self, origin: tuple[str, str, int]) -> Connection | None:
        """The youngest idle connection that is still quiet: bytes or an end that came meanwhile discard it."""
        for connection in reversed([one for one in self._idle if one.origin == origin]):
            self._idle.remove(connection)
            if broken("poison") or broken("dup_post") or not connection.readable():
                return connection
            connection.close()
        return None

    def _release(self, origin: tuple[str, str, int], connection: Connection | None, reusable: bool) -> None:
        with self._free:
            self._busy[origin] -= 1
            if connection is not None:
                connection.idle_since_ns = time.monotonic_ns()
                if reusable:
                    self._idle.append(connection)
                else:
                    connection.close()
            self._free.notify()


class HookError(RuntimeError):
    """What a user's hook raises."""


def _hook(hooks: str) -> Callable[[dict[str, Any]], None]:
    if hooks != "raising":
        return lambda event: None

    def raising(event: dict[str, Any]) -> None:
        raise HookError(f"the user's hook fails on {event['name']}")

    return raising


def _tls_context(ca_file: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file)
    if broken("trust_all"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _raw_target(url: str) -> str:
    """The target as the user wrote it: urlsplit would quietly drop CR, LF and tabs."""
    rest = url.split("://", 1)[-1]
    slash = rest.find("/")
    return rest[slash:].split("#", 1)[0] if slash >= 0 else "/"


def _response(answered: Answered) -> dict[str, Any]:
    reply = {"outcome": "response", "status": answered.status, "headers": [list(pair) for pair in answered.headers]}
    if answered.body is not None:
        reply |= {"body_bytes": len(answered.body), "body_sha256": hashlib.sha256(answered.body).hexdigest()}
    return reply


def _error(error: CallError, recorder: Recorder) -> dict[str, Any]:
    phase = error.phase or recorder.phase
    names = {"type": type(error).__name__, "message": str(error), "also": ["Exception"]}
    return {"kind": error.kind, "phase": phase, **names}
