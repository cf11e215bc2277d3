"""Events as they happen, and the listener that gets them."""

from __future__ import annotations

import typing


class Event:
    """One event of spec/events.yaml."""

    __slots__ = ("attempt", "fields", "name", "t_ns", "timing")

    def __init__(
        self, name: str, t_ns: int, attempt: int | None, fields: dict[str, typing.Any], timing: typing.Any
    ) -> None:
        self.name = name
        #: Monotonic time in nanoseconds.
        self.t_ns = t_ns
        #: Number of the attempt, from 0; None on events of the call.
        self.attempt = attempt
        #: The other fields that events.yaml names for this event.
        self.fields = fields
        #: The record of the call. It is filled while the call runs and complete at call_end.
        self.timing = timing

    def to_dict(self) -> dict[str, typing.Any]:
        """Return the event under its canonical names, absent fields left out."""
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

    ``on_event`` gets every event; the method named for an event gets that event after it. What a method raises is
    swallowed, counted and logged once; it never changes the request.
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


Methods = tuple[typing.Callable[[Event], object], ...]
#: The methods to call for an event, by its name; no entry where nobody listens.
Listener = dict[str, Methods]

_METHODS = tuple(name for name in vars(TimingListener) if name.startswith("on_") and name != "on_event")


def methods_of(listener: typing.Any) -> Listener:
    """Return the methods of *listener* that do something: those it does not override cost nothing."""
    found: Listener = {}
    every = getattr(type(listener), "on_event", None) is not TimingListener.on_event or "on_event" in vars(listener)
    for name in _METHODS:
        method = getattr(listener, name, None)
        both = [listener.on_event] if every else []
        if method is not None and getattr(method, "__func__", None) is not _nothing:
            both.append(method)
        if both:
            found[name[3:]] = tuple(both)
    return found
