"""Beside OpenTelemetry: ``onewrite.opentelemetry.instrument()``, or nothing but ``opentelemetry-instrument``.

The span that an instrumentation makes of a request gets the request's phases as ``onewrite.*`` attributes; the
record leaves as a log event ``onewrite.request`` with that span's context; metrics count requests and measure waits by
cause. No span is made here. Needs ``pip install "onewrite[opentelemetry]"``; without an SDK the API does nothing with
what it gets.
"""

from __future__ import annotations

import importlib.util
import sys
import typing

from . import __version__, _install
from ._errors import UnsupportedBaseError
from ._install import install
from ._settings import Given, Installation
from ._timing.events import TimingListener

if typing.TYPE_CHECKING:
    from typing_extensions import Unpack

try:
    from opentelemetry import _logs
    from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]
    from opentelemetry.metrics import MeterProvider

    from ._opentelemetry import instruments
    from ._opentelemetry.listener import Listener
except ImportError as error:
    raise UnsupportedBaseError(
        f'onewrite.opentelemetry needs OpenTelemetry, pip install "onewrite[opentelemetry]": {error}'
    ) from error

__all__ = ["OnewriteInstrumentor", "instrument", "listener"]


def listener(
    *,
    logs: bool = True,
    meter_provider: MeterProvider | None = None,
    logger_provider: _logs.LoggerProvider | None = None,
) -> TimingListener:
    """Return a listener for own classes: ``onewrite.PoolManager(listener=onewrite.opentelemetry.listener())``.

    - ``logs``: whether each call's record leaves as a log event;
    - the providers are the global ones where none are given, also when those are set later.
    """
    logger = _logs.get_logger("onewrite", __version__, logger_provider) if logs else None
    return Listener(instruments.of(__version__, meter_provider), logger)


def instrument(
    *,
    logs: bool = True,
    meter_provider: MeterProvider | None = None,
    logger_provider: _logs.LoggerProvider | None = None,
    httpx: bool = False,
    **options: Unpack[Given],
) -> Installation:
    """Call :func:`onewrite.install` with a :func:`listener`; before instrumentations and SDK or after them.

    With ``httpx`` also that of :mod:`onewrite.httpx`, for httpx and httpx2. *options* are ``on_timing`` and the
    options of install(). Raises what install() raises, and returns an Installation whose ``remove()`` takes the
    listener away. Hooks of other calls of install() stay in force.
    """
    reporting = listener(logs=logs, meter_provider=meter_provider, logger_provider=logger_provider)
    installed = install(listener=reporting, **options)
    if not httpx:
        return installed
    from ._httpcore.install import install as install_httpx  # imports httpcore, which not every program has

    installed_httpx = install_httpx(listener=reporting, **options)
    return Installation(installed.remove, installed_httpx.remove)


class OnewriteInstrumentor(BaseInstrumentor):  # type: ignore[misc]
    """For ``opentelemetry-instrument app.py``, which calls it; reaches httpx where httpcore is installed.

    ``OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=onewrite`` leaves it out.
    """

    def instrumentation_dependencies(self) -> typing.Collection[str]:
        """Return what is instrumented."""
        return ("urllib3 >= 1.26, < 3",)

    def _instrument(self, **kwargs: typing.Any) -> None:
        found = any(importlib.util.find_spec(name) for name in ("httpcore", "httpcore2"))
        known = ("logs", "meter_provider", "logger_provider")
        given = {name: kwargs[name] for name in known if name in kwargs}
        self._installation = instrument(httpx=found, **given)

    def _uninstrument(self, **kwargs: typing.Any) -> None:
        self._installation.remove()
        # Without another install() the libraries are left as they were.
        httpcore = sys.modules.get(f"{__package__}._httpcore.install")
        for module in (_install, httpcore):
            if module is not None and not module.installations.remain():
                module.uninstall()
