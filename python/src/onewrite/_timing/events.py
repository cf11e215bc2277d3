"""Events as they happen, and the listener that gets them."""

from __future__ import annotations

import logging
import typing

if typing.TYPE_CHECKING:
    from .call import LiveCall
    from .record import Timing

log = logging.getLogger("onewrite")


class Event:
    """One event of spec/events.yaml."""

    __slots__ = ("_call", "attempt", "fields", "name", "t_ns")

    def __init__(
        self, name: str, t_ns: int, attempt: int | None, fields: dict[str, typing.Any], call: LiveCall
    ) -> None:
        self.name = name
        #: Monotonic time in nanoseconds.
        self.t_ns = t_ns
        #: Number of the attempt, from 0; None on events of the call.
        self.attempt = attempt
        #: The other fields that events.yaml names for this event.
        self.fields = fields
        self._call = call

    @property
    def timing(self) -> Timing:
        """The record of the call, as far as it has come when this is read; it is whole at call_end."""
        return self._call.record()

    def to_dict(self) -> dict[str, typing.Any]:
        """The event under its canonical names, absent fields left out."""
        found: dict[str, typing.Any] = {"name": self.name, "t_ns": self.t_ns}
        if self.attempt is not None:
            found["attempt"] = self.attempt
        found.update((key, value) for key, value in self.fields.items() if value is not None)
        return found

    def __repr__(self) -> str:
        return f"<Event {self.to_dict()}>"


def _nothing(self: TimingListener, event: Event) -> None:
    return None


class TimingListener:
    """Gets each event as it happens, on the thread of the request. Override what you need.

    ``on_event`` gets every event; the method named for an event gets that one after it. What a method
    raises is swallowed, counted and logged once; it never changes the request.
    """

    def on_event(self, event: Event) -> None:
        """Get any event."""

    on_call_start = on_attempt_start = _nothing
    on_queue_start = on_queue_end = _nothing
    on_dns_start = on_dns_end = _nothing
    on_connect_start = on_connect_end = _nothing
    on_tls_start = on_tls_end = _nothing
    on_connection_acquired = _nothing
    on_request_start = on_request_end = _nothing
    on_informational = _nothing
    on_response_start = on_headers_end = on_response_end = _nothing
    on_connection_released = _nothing
    on_attempt_end = on_call_end = _nothing


class _Failures:
    """Hooks that raised: counted always, logged the first time."""

    count = 0


failures = _Failures()


def swallow(hook: typing.Any) -> None:
    """Take note of the exception that *hook* has just raised."""
    failures.count += 1
    if failures.count == 1:
        log.warning("a timing hook raised and is ignored, as all later ones will be: %r", hook, exc_info=True)


def hook_failures() -> int:
    """How many times a timing hook of this process raised."""
    return failures.count


Methods = tuple[typing.Callable[[Event], object], ...]
#: The methods to call for an event, by its name; no entry where nobody listens.
Listener = dict[str, Methods]

_METHODS = tuple(name for name in vars(TimingListener) if name.startswith("on_") and name != "on_event")


def methods_of(listener: typing.Any) -> Listener:
    """Return the methods of *listener* that do something: those it does not override cost nothing."""
    found: Listener = {}
    every = getattr(type(listener), "on_event", None) is not TimingListener.on_event or "on_event" in vars(listener)
    for name in _METHODS:
        own = getattr(listener, name, None)
        both = [listener.on_event] if every else []
        if own is not None and getattr(own, "__func__", None) is not _nothing:
            both.append(own)
        if both:
            found[name[3:]] = tuple(both)
    return found
