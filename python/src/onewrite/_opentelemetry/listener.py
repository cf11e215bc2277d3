"""What is reported of a call, and when: on its span while that is recording, as log event and metrics at its end.

Instrumentations make their span around requests' ``Session.send``, a pool's ``urlopen`` or a transport's
``handle_request``: before the call begins, or within it. The context that is current when a connection is acquired,
and when the head of the response is there, has their span whichever was activated first. They end the span before
the call is over where the caller reads the body later, so phases are written as they become known.
"""

from __future__ import annotations

import typing

from opentelemetry import trace
from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context, get_current, get_value

from .. import mappers
from .._timing.events import Event, TimingListener
from .._timing.record import Timing
from .instruments import Instruments

#: Of the log event.
NAME = "onewrite.request"
#: Kinds of spans that stand for work of which the request is a part, perhaps one of many.
_NOT_OURS = (trace.SpanKind.SERVER, trace.SpanKind.CONSUMER)
#: The second is how older instrumentations spell the key.
_SUPPRESSED = (_SUPPRESS_INSTRUMENTATION_KEY, "suppress_instrumentation")


class Listener(TimingListener):
    """Reports each call to OpenTelemetry."""

    def __init__(self, instruments: Instruments, logger: Logger | None) -> None:
        self._instruments = instruments
        self._logger = logger

    def on_call_start(self, event: Event) -> None:
        """Keep the context with the call. An exporter's requests are not reported: each would cause another."""
        context = get_current()
        if not any(get_value(key, context) for key in _SUPPRESSED):
            event.timing.notes = {**(event.timing.notes or {}), self: context}

    def _context(self, event: Event, renewed: bool = False) -> Context | None:
        """Return the context of the call; None if the call is not reported. *renewed*: the one that is current now."""
        notes: dict[Listener, Context] | None = event.timing.notes
        if notes is None or self not in notes:
            return None
        if renewed:
            notes[self] = get_current()
        return notes[self]

    def on_queue_end(self, event: Event) -> None:
        """Write the phase: a request that gets no connection has no other."""
        self._write(event, True)

    def on_connection_acquired(self, event: Event) -> None:
        """Keep the context: an instrumentation's span is current now."""
        self._context(event, True)

    def on_headers_end(self, event: Event) -> None:
        """Write the phases so far: some instrumentations end their span next."""
        self._write(event, True)

    def on_attempt_end(self, event: Event) -> None:
        """Write what came since; all of it where no response came."""
        timing = event.timing
        if timing.headers_end:
            span = _span(self._context(event))
            if span is not None and timing.receive_ns is not None:
                span.set_attribute("onewrite.receive_ns", timing.receive_ns)
        elif timing.phase != "queue":
            # Where connecting failed, the span that is current now is the caller's.
            self._write(event, timing.conn_id is None)

    def _write(self, event: Event, renewed: bool) -> None:
        span = _span(self._context(event, renewed))
        if span is not None:
            span.set_attributes(mappers.otel_phases(event.timing))

    def on_call_end(self, event: Event) -> None:
        """Write the rest, if the span is still recording; add to the metrics; emit the log event."""
        context = self._context(event)
        if context is None:
            return
        timing: Timing = event.timing
        attributes = {name: value for name, value in mappers.otel_attributes(timing).items() if value is not None}
        try:
            span = _span(context)
            if span is not None:
                last = {"onewrite.total_ns": timing.total_ns or 1, "onewrite.attempts": timing.index + 1}
                span.set_attributes(last)
        finally:
            try:
                self._instruments.record(timing, attributes, context)
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


def _span(context: Context | None) -> trace.Span | None:
    """Return the span to write the phases on, if it is still recording."""
    if context is None:
        return None
    span = trace.get_current_span(context)
    return span if span.is_recording() and getattr(span, "kind", None) not in _NOT_OURS else None
