"""A call while it runs: how calls and their attempts begin and end, and how a call is found again.

The outermost request of a thread opens a call and leaves it in the context variable ``current``. Each try of the
library below, a first one, a retry, a redirect, is an attempt of it. A call ends when the outermost request has
returned and its last attempt has ended, whichever is later: a response may be read long after it was returned.

Nothing here runs when no hook is set.
"""

from __future__ import annotations

import contextvars
import re
import time
import typing
import weakref

from .._errors import kind_of
from . import events
from .attempt import LiveAttempt, now
from .events import Event, Methods
from .hooks import Hooks
from .record import Timing, made

#: Where the authority of a URL begins: behind the scheme and its slashes, or at once; a path has none.
_BEFORE_AUTHORITY = re.compile(r"\s*(?:https?:[/\\]*|(?:[a-z][a-z0-9+.\-]*:)?//|(?![/\\?#\s]))", re.IGNORECASE).match
_AUTHORITY = re.compile(r"[^/\\?#]*").match
_WITHOUT_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]*)?").fullmatch
_SIGNATURE = re.compile(r"(?<=[?&])(AWSAccessKeyId|Signature|sig|X-Goog-Signature)=[^&#]*")


def redacted(url: str) -> str:
    """*url* without user, password and signatures, also where it is not one that anybody would send (SEC-17)."""
    if "@" in url:
        before = _BEFORE_AUTHORITY(url)
        if before is not None:
            start = before.end()
            authority = _AUTHORITY(url, start)
            assert authority is not None, "it may be empty"
            if "@" in authority[0]:
                url = url[:start] + url[start + authority[0].rindex("@") + 1 :]
            elif not _WITHOUT_PORT(authority[0]):  # a password with a "/", "?" or "#" that is not escaped
                url = url[:start] + url.rpartition("@")[2]
    if "sig=" not in url and "Signature=" not in url and "AWSAccessKeyId=" not in url:
        return url
    mark = url.find("?")
    fragment = url.find("#")
    if mark < 0 or 0 <= fragment < mark:
        return url
    end = len(url) if fragment < 0 else fragment
    return url[:mark] + _SIGNATURE.sub(r"\1=REDACTED", url[mark:end]) + url[end:]


class LiveCall:
    """One request of a user, with its retries and redirects."""

    __slots__ = (
        "__weakref__", "_record", "_watched", "attempts", "delivering", "ended", "error_kind", "error_phase", "last",
        "listener", "method", "notes", "on_timing", "outcome", "returned", "started_at_mono_ns",
        "started_at_unix_ns", "total_ns", "url",
    )  # fmt: skip

    def __init__(self, hooks: Hooks, method: str, url: str) -> None:
        #: Those that have not been called yet.
        self.on_timing = list(hooks.on_timing)
        self.listener = hooks.listener
        self.method = method
        self.url = redacted(url)
        self.attempts: list[LiveAttempt] = []
        self.last: LiveAttempt | None = None
        self.outcome: str | None = None
        self.error_kind: str | None = None
        self.error_phase: str | None = None
        self.total_ns: int | None = None
        #: Whether the outermost request has returned; whether the call is over; whether a listener is being called.
        self.returned = self.ended = self.delivering = False
        #: What listeners keep with the call, by listener.
        self.notes: dict[typing.Any, typing.Any] | None = None
        self._record: Timing | None = None
        self._watched = False
        self.started_at_unix_ns = time.time_ns()
        self.started_at_mono_ns = now()

    def start(self) -> None:
        """Tell the listener that it has begun."""
        if self.listener is not None:
            fields = {"method": self.method, "url": self.url, "started_at_unix_ns": self.started_at_unix_ns}
            self._tell("call_start", self.started_at_mono_ns, **fields)

    def __del__(self) -> None:
        # The collector may free a response that was not read in an order in which nothing closes its connection. And
        # a signal may have come while the call was begun or ended.
        if self.ended:
            if self.on_timing:
                self.end(None)
        elif self._watched:
            last = self.attempts[-1]
            last.end("ok" if last.error is None else "error")
        elif self.started_at_mono_ns:
            self.failed(KeyboardInterrupt())

    def begin_attempt(self) -> None:
        """The library below has begun to work on the call, for the first time or again."""
        last = self.last
        if last is not None and not last.ended:
            last.end("ok" if last.error is None else "error")
        # Without a listener nothing has happened since the start of the call.
        start = self.started_at_mono_ns if last is None and self.listener is None else now()
        attempt = self.last = LiveAttempt(self, len(self.attempts), start)
        self.attempts.append(attempt)
        if self.listener is not None:
            attempt.tell("attempt_start", start)

    def answered(self) -> None:
        """The outermost request has returned a response."""
        self.returned = True
        last = self.last
        if last is None or last.ended:
            self.end(None)
        elif last.connection is None:
            # A connection that is not onewrite's (a recorder's stand-in): nothing else ends the call.
            last.end("ok")
        else:
            self._watched = True

    def failed(self, error: BaseException) -> None:
        """The outermost request has raised *error*."""
        last = self.last
        if last is not None and not self.ended:
            self.error_phase = last.phase
            if not last.ended:
                if last.error is None:
                    last.error = error
                last.end("error" if isinstance(error, Exception) else "cancelled")
        self.end(error)

    def end(self, error: BaseException | None) -> None:
        """The call is over: hand its record out. Called again, it goes on where a signal has ended it."""
        if not self.ended:
            self.outcome = "ok"
            if error is not None:
                self.error_kind = kind_of(error)
                self.outcome = "cancelled" if self.error_kind == "cancelled" else "error"
                if self.error_phase is None:
                    self.error_phase = "queue"
            last = self.last
            end = last.at["attempt_end"] if last is not None and last.ended else now()
            self.total_ns = max(end - self.started_at_mono_ns, 1)
            for attempt in self.attempts:
                attempt.call = attempt.error = None  # no cycle is left for the collector
            self.ended = True
            if self.listener is not None:
                fields = {"outcome": self.outcome, "error_kind": self.error_kind, "error_phase": self.error_phase}
                self._tell("call_end", end, **fields)
        if self.on_timing:
            record = self.record()
        while self.on_timing:
            hook = self.on_timing[0]
            try:
                self.on_timing.pop(0)(record)  # in one line: a signal finds the hook called, or still to be called
            except Exception:
                events.swallow(hook)

    def record(self) -> Timing:
        """Return the call as far as it has come; the same object each time once it is over."""
        if self._record is not None:
            return self._record
        fields = {
            "method": self.method,
            "url": self.url,
            "attempts": [attempt.record() for attempt in self.attempts],
            "outcome": self.outcome,
            "error_kind": self.error_kind,
            "error_phase": self.error_phase,
            "started_at_unix_ns": self.started_at_unix_ns,
            "started_at_mono_ns": self.started_at_mono_ns,
            "total_ns": self.total_ns,
        }
        found = made(Timing, fields)
        if self.ended:
            self._record = found
        return found

    def deliver(self, methods: Methods, event: Event) -> None:
        """Hand *event* to *methods*. A request that one of them makes is a separate call."""
        self.delivering = True
        try:
            for method in methods:
                try:
                    method(event)
                except Exception:
                    events.swallow(method)
        finally:
            self.delivering = False

    def _tell(self, name: str, t_ns: int, **fields: typing.Any) -> None:
        methods = None if self.listener is None else self.listener.get(name)
        if methods is not None:
            self.deliver(methods, Event(name, t_ns, None, fields, self))


#: The call under way on this thread (or greenlet, or task); its urlopen() keeps it alive.
current: contextvars.ContextVar[weakref.ref[LiveCall] | None] = contextvars.ContextVar("onewrite_call", default=None)


def of_thread() -> LiveCall | None:
    """Return the call under way on this thread."""
    reference = current.get()
    return None if reference is None else reference()


def under_way() -> LiveCall | None:
    """Return the call of this thread that a request made now would be another attempt of.

    A request made while another one is being sent (by a generator that is its body) is a call of its own.
    """
    call = of_thread()
    # A context that was copied during a call still has that call after its end.
    if call is None or call.returned or call.ended or call.delivering:
        return None
    last = call.last
    if last is None or last.ended or last.error is not None or "headers_end" in last.at:
        return call
    return None
