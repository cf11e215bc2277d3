"""What is reported of a call, and when: on its span while that is recording, as log event and metrics at its end.

Instrumentations make their span around requests' ``Session.send``, a pool's ``urlopen`` or a transport's
``handle_request``: before the call begins, or within it. The context that is current when a connection is acquired,
and when the head of the response is there, has their span whichever was activated first. They end the span before
the call is over where the caller reads the body later, so phases are written as they become known.
"""

from __future__ import annotations

import collections
import gc
import threading
import typing

from opentelemetry import trace
from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context, get_current, get_value

from .. import mappers
from .._timing.events import Event, TimingListener
from .._timing.record import Timing, phases
from .instruments import Instruments

#: Of the log event.
NAME = "onewrite.request"
#: Kinds of spans that stand for work of which the request is a part, perhaps one of many.
_NOT_OURS = (trace.SpanKind.SERVER, trace.SpanKind.CONSUMER)
#: The second is how older instrumentations spell the key.
_SUPPRESSED = (_SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation")


#: The thread on which the garbage collector runs, 0 for none. It may begin at any allocation, also while the SDK
#: holds one of its locks. A response that it frees is closed there: reporting that at once would deadlock.
_collecting_thread = 0


def _note_collection(phase: str, info: dict[str, typing.Any]) -> None:
    global _collecting_thread
    _collecting_thread = threading.get_ident() if phase == "start" else 0


gc.callbacks.append(_note_collection)


def _collecting() -> bool:
    return _collecting_thread == threading.get_ident()


class Listener(TimingListener):
    """Reports each call to OpenTelemetry."""

    def __init__(self, instruments: Instruments, logger: Logger | None, request_duration: bool) -> None:
        self._instruments = instruments
        self._logger = logger
        self._request_duration = request_duration
        #: Calls that ended inside the garbage collector, with their contexts: reported at the next end of a call.
        self._ended: collections.deque[tuple[Timing, Context]] = collections.deque()

    def on_call_start(self, event: Event) -> None:
        """Keep the context with the call. An exporter's requests are not reported: each would cause another."""
        context = get_current()
        if not any(get_value(key, context) for key in _SUPPRESSED):
            call = event._call
            if call.notes is None:
                call.notes = {}
            call.notes[self] = context

    def _context(self, event: Event) -> Context | None:
        """Return the context of the call; None if the call is not reported."""
        notes = event._call.notes
        return None if notes is None else notes.get(self)

    def _keep_current(self, event: Event) -> Context | None:
        """Replace the context of the call by the current one, if the call is reported."""
        notes = event._call.notes
        if notes is None or self not in notes:
            return None
        context = notes[self] = get_current()
        return context

    def on_queue_end(self, event: Event) -> None:
        """Write the phase: a request that gets no connection has no other."""
        self._write_known(event)

    def on_connection_acquired(self, event: Event) -> None:
        """Count the connection."""
        attempt = event._call.last
        if self._keep_current(event) is not None and attempt is not None and attempt.connection is not None:
            self._instruments.acquired(attempt.connection, event)

    def on_headers_end(self, event: Event) -> None:
        """Write the phases so far: some instrumentations end their span next."""
        self._write_known(event)

    def _write_known(self, event: Event) -> None:
        context = self._keep_current(event)
        if context is not None:
            _write_phases(event, context)

    def on_attempt_end(self, event: Event) -> None:
        """Write what came since; all of it where no response came."""
        context = self._context(event)
        attempt = event._call.last
        if context is None or attempt is None or _collecting():
            return
        if "headers_end" in attempt.at:
            span = _span(context)
            receive_ns = phases(attempt.at).get("receive_ns")
            if span is not None and receive_ns is not None:
                span.set_attribute("onewrite.receive_ns", receive_ns)
        elif attempt.phase != "queue":
            if attempt.connection is None:  # connecting failed: the span that is current now is the caller's
                context = self._keep_current(event) or context
            _write_phases(event, context)

    def on_call_end(self, event: Event) -> None:
        """Write the rest, if the span is still recording; add to the metrics; emit the log event."""
        context = self._context(event)
        if context is None:
            return
        event._call.notes.pop(self)  # type: ignore[union-attr]
        self._ended.append((event.timing, context))
        if not _collecting():
            while self._ended:
                try:
                    ended = self._ended.popleft()
                except IndexError:  # another thread was faster
                    return
                self._tell(*ended)

    def _tell(self, timing: Timing, context: Context) -> None:
        attributes = {name: value for name, value in mappers.otel_attributes(timing).items() if value is not None}
        try:
            span = _span(context)
            if span is not None:
                last = {"onewrite.total_ns": timing.total_ns or 1, "onewrite.attempts": len(timing.attempts)}
                span.set_attributes(last)
        finally:
            try:
                self._instruments.record(timing, attributes, context, self._request_duration)
            finally:
                if self._logger is not None:
                    self._emit(self._logger, timing, attributes, context)

    def _emit(self, logger: Logger, timing: Timing, attributes: dict[str, typing.Any], context: Context) -> None:
        enabled = getattr(logger, "enabled", None)  # not in older versions
        if enabled is not None and not enabled(context=context, severity_number=SeverityNumber.INFO, event_name=NAME):
            return
        logger.emit(
            LogRecord(
                timestamp=timing.started_at_unix_ns + (timing.total_ns or 0),
                context=context,
                severity_number=SeverityNumber.INFO,
                severity_text="INFO",
                event_name=NAME,
                attributes={**attributes, **mappers.otel_phases(timing)},
                body=timing.to_dict(),
            )
        )


def _span(context: Context) -> trace.Span | None:
    """The span to write the phases on, if it is still recording."""
    span = trace.get_current_span(context)
    return span if span.is_recording() and getattr(span, "kind", None) not in _NOT_OURS else None


def _write_phases(event: Event, context: Context) -> None:
    span = _span(context)
    if span is not None:
        span.set_attributes(mappers.otel_phases(event.timing))
