"""onewrite.opentelemetry on the real SDK, without instrumentations: what is reported of which call, on which span."""

from __future__ import annotations

import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time
import typing

import httpx
import pytest
import urllib3
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind

import onewrite
import onewrite.httpx
import onewrite.opentelemetry
import onewrite.requests
from onewrite._opentelemetry.instruments import _METHODS
from tap import Peer, Seen, mode, reply, until
from telemetry import Telemetry

BODY = b"x" * 200


@pytest.fixture
def telemetry() -> typing.Iterator[Telemetry]:
    made = Telemetry()
    failures = onewrite.hook_failures()
    yield made
    assert onewrite.hook_failures() == failures
    onewrite.uninstall()
    made.close()


def test_instrument_is_all_that_a_program_needs(telemetry: Telemetry, tap: typing.Any) -> None:
    onewrite.opentelemetry.instrument(**telemetry.ours)
    server = tap()
    http = urllib3.PoolManager()
    for _ in range(20):
        with telemetry.tracer.start_as_current_span("call"):
            http.request("POST", server.url("/a?b"), body=BODY)

    for number, (span, log) in enumerate(zip(telemetry.spans(), telemetry.logs(), strict=True)):
        assert (log.trace_id, log.span_id) == (span.context.trace_id, span.context.span_id)
        attributes = dict(span.attributes or {})
        assert attributes["onewrite.conn_requests"] == number + 1
        assert attributes["onewrite.reused"] is (number > 0)
        assert attributes["onewrite.attempts"] == 1
        assert ("onewrite.connect_ns" in attributes) is (number == 0)
        assert 0 < attributes["onewrite.wait_ns"] < attributes["onewrite.total_ns"]
        assert attributes.items() <= dict(log.attributes).items()
        assert not span.events
        assert log.event_name == "onewrite.request"
        assert log.attributes["url.full"] == server.url("/a?b")
        assert log.body["attempts"][0]["conn_requests"] == number + 1
        assert log.body["total_ns"] == attributes["onewrite.total_ns"]
        assert span.start_time <= log.timestamp <= span.end_time

    metrics = telemetry.metrics()
    waits = metrics["onewrite.wait.duration"]
    # One series for each cause: on a busy machine a wait may be long enough to have one.
    assert sum(wait.count for wait in waits) == 20
    assert 0.035 in waits[0].edges
    named = waits[0].attributes.items()
    assert named >= {"http.request.method": "POST", "server.address": "127.0.0.1", "server.port": server.port}.items()
    requests = {point.attributes["onewrite.reused"]: point.value for point in metrics["onewrite.requests"]}
    assert requests == {False: 1, True: 19}
    http.clear()
    assert mode(one.segments for one in server.seen) == 1


# -- which span ---------------------------------------------------------------------------------------


def test_the_span_of_the_server_that_asks_is_left_alone(telemetry: Telemetry, tap: typing.Any) -> None:
    """It may make a hundred requests; the log event has its ids all the same."""
    onewrite.opentelemetry.instrument(**telemetry.ours)
    with telemetry.tracer.start_as_current_span("page", kind=SpanKind.SERVER):
        urllib3.PoolManager().request("GET", tap().url())
    (span,), (log,) = telemetry.spans(), telemetry.logs()
    assert not span.attributes
    assert log.span_id == span.context.span_id


def test_without_a_span(telemetry: Telemetry, tap: typing.Any) -> None:
    onewrite.opentelemetry.instrument(**telemetry.ours)
    urllib3.PoolManager().request("GET", tap().url())
    (log,) = telemetry.logs()
    assert log.span_id == 0
    assert log.attributes["onewrite.wait_ns"] > 0


def test_a_span_that_is_not_recorded_is_asked_nothing(telemetry: Telemetry, tap: typing.Any) -> None:
    onewrite.opentelemetry.instrument(**telemetry.ours)
    context = SpanContext(7, 9, is_remote=False)

    class Unsampled(NonRecordingSpan):
        def set_attributes(self, attributes: typing.Any) -> None:
            raise AssertionError

    with trace.use_span(Unsampled(context)):
        urllib3.PoolManager().request("GET", tap().url())
    (log,) = telemetry.logs()
    assert (log.trace_id, log.span_id) == (7, 9)


def test_the_real_exporter_is_not_told_of(telemetry: Telemetry, tap: typing.Any) -> None:
    server, exporting = tap(), tap()
    provider = LoggerProvider(shutdown_on_exit=False)
    exporter = OTLPLogExporter(exporting.url("/v1/logs"))
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=10))
    onewrite.opentelemetry.instrument(meter_provider=telemetry.meter_provider, logger_provider=provider)
    urllib3.PoolManager().request("GET", server.url())
    until(lambda: bool(exporting.seen))
    provider.force_flush()  # waits for the export under way, then exports what that was told of, if anything
    provider.shutdown()
    assert [one.line for one in exporting.seen] == ["POST /v1/logs HTTP/1.1"]
    (requests,) = telemetry.metrics()["onewrite.requests"]
    assert requests.attributes["server.port"] == server.port


# -- which calls --------------------------------------------------------------------------------------


def test_a_body_that_is_read_later(telemetry: Telemetry, tap: typing.Any) -> None:
    """What is known at the head is on the span that has ended by then; the event has all, and the span's ids."""
    onewrite.opentelemetry.instrument(**telemetry.ours)
    http = urllib3.PoolManager()
    with telemetry.tracer.start_as_current_span("call"):
        response = http.request("GET", tap().url(), preload_content=False)
    assert not telemetry.logs()
    with telemetry.tracer.start_as_current_span("another"):
        response.read()
        response.release_conn()
    (span, another), (log,) = telemetry.spans(), telemetry.logs()
    assert log.span_id == span.context.span_id
    assert not another.attributes
    assert "onewrite.wait_ns" in (span.attributes or {})
    assert "onewrite.receive_ns" not in (span.attributes or {})
    assert log.attributes["onewrite.receive_ns"] > 0


def test_a_refused_connection(telemetry: Telemetry) -> None:
    onewrite.opentelemetry.instrument(**telemetry.ours)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        with pytest.raises(urllib3.exceptions.HTTPError), telemetry.tracer.start_as_current_span("call"):
            urllib3.PoolManager().request("GET", url, retries=False)
    (span,), (log,) = telemetry.spans(), telemetry.logs()
    assert (span.attributes or {})["onewrite.connect_ns"] > 0
    assert log.attributes["error.type"] == "connect"
    assert "onewrite.wait_ns" not in log.attributes
    metrics = telemetry.metrics()
    assert not metrics["onewrite.wait.duration"]
    assert not metrics["onewrite.requests"]


def test_no_connection_in_time(telemetry: Telemetry, tap: typing.Any) -> None:
    onewrite.opentelemetry.instrument(**telemetry.ours)
    pool = urllib3.HTTPConnectionPool("127.0.0.1", tap().port, maxsize=1, block=True)
    held = pool.request("GET", "/", preload_content=False)
    with pytest.raises(urllib3.exceptions.EmptyPoolError), telemetry.tracer.start_as_current_span("call"):
        pool.request("GET", "/", pool_timeout=0.01)
    held.close()
    (span,) = telemetry.spans()
    log = telemetry.logs()[0]
    assert log.span_id == span.context.span_id
    assert (span.attributes or {})["onewrite.queue_ns"] >= 10_000_000
    assert log.attributes["error.type"] == "pool"


def test_retries_and_redirects(telemetry: Telemetry, tap: typing.Any) -> None:
    def answer(peer: Peer, seen: Seen) -> None:
        if seen.line.startswith("GET /a "):
            peer.send(reply(b"", "503 Service Unavailable", "Retry-After: 0"))
        elif seen.line.startswith("GET /b "):
            peer.send(reply(b"", "302 Found", "Location: /c"))
        else:
            peer.send(reply(b"ok", "200 OK"))

    onewrite.opentelemetry.instrument(**telemetry.ours)
    server = tap(answer)
    http = urllib3.PoolManager(retries=urllib3.Retry(1, status_forcelist=[503], raise_on_status=False))
    for path in ("/a", "/b"):
        with telemetry.tracer.start_as_current_span(path):
            http.request("GET", server.url(path))
    retried, redirected = (dict(span.attributes or {}) for span in telemetry.spans())
    assert retried["onewrite.attempts"] == redirected["onewrite.attempts"] == 2
    assert [log.attributes["http.response.status_code"] for log in telemetry.logs()] == [503, 200]
    assert [len(log.body["attempts"]) for log in telemetry.logs()] == [2, 2]
    metrics = telemetry.metrics()
    assert sum(point.count for point in metrics["onewrite.wait.duration"]) == 4
    assert sum(point.value for point in metrics["onewrite.requests"]) == 4


def test_the_cause_of_a_long_wait(telemetry: Telemetry, tap: typing.Any) -> None:
    def slow(peer: Peer, seen: Seen) -> None:
        time.sleep(0.2)
        peer.send(reply(b"ok"))

    onewrite.opentelemetry.instrument(**telemetry.ours)
    with telemetry.tracer.start_as_current_span("call"):
        urllib3.PoolManager().request("PATCH", tap(slow).url())
    attributes = dict(telemetry.spans()[0].attributes or {})
    assert attributes["onewrite.cause"] == "server"
    (wait,) = telemetry.metrics()["onewrite.wait.duration"]
    assert wait.attributes["onewrite.cause"] == "server"


def test_a_method_of_ones_own_makes_no_time_series(telemetry: Telemetry, tap: typing.Any) -> None:
    onewrite.opentelemetry.instrument(**telemetry.ours)
    http, url = urllib3.PoolManager(), tap().url()
    for method in ("BREW", "WHEN", "get"):
        http.urlopen(method, url)
    waits = telemetry.metrics()["onewrite.wait.duration"]
    # A wait has a cause, too, and on a busy machine three requests may have two.
    assert {one.attributes["http.request.method"] for one in waits} == {"_OTHER"}
    assert sum(one.count for one in waits) == 3


def test_the_methods_are_those_of_the_contract() -> None:
    events = pathlib.Path(__file__).parents[2] / "spec" / "events.yaml"
    line = re.search(r"^  methods: \[(.*)\]", events.read_text(), re.MULTILINE)
    assert line
    assert set(line[1].split(", ")) == _METHODS


# -- faults -------------------------------------------------------------------------------------------


def test_threads_write_on_their_own_spans(telemetry: Telemetry, tap: typing.Any) -> None:
    onewrite.opentelemetry.instrument(**telemetry.ours)
    http, server = urllib3.PoolManager(maxsize=4), tap()

    def ask(number: int) -> None:
        for _ in range(10):
            with telemetry.tracer.start_as_current_span(str(number)):
                http.request("POST", server.url(f"/{number}"), body=BODY)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    by_id = {span.context.span_id: span for span in telemetry.spans()}
    logs = telemetry.logs()
    assert len(logs) == len(by_id) == 80
    for log in logs:
        span = by_id.pop(log.span_id)
        assert log.attributes["url.full"] == server.url(f"/{span.name}")
        assert (span.attributes or {}).items() <= dict(log.attributes).items()
    http.clear()


class Broken(LogRecordProcessor):
    def on_emit(self, log_record: typing.Any) -> None:
        raise RuntimeError("the exporter is broken")

    def shutdown(self) -> None: ...

    def force_flush(self, timeout_millis: int = 0) -> bool:
        return True


def test_a_broken_exporter_harms_nobody(tap: typing.Any) -> None:
    """Neither the request nor another hook fails; hook_failures() counts it."""
    telemetry = Telemetry()
    broken = LoggerProvider(shutdown_on_exit=False)
    broken.add_log_record_processor(Broken())
    failures = onewrite.hook_failures()
    onewrite.opentelemetry.instrument(meter_provider=telemetry.meter_provider, logger_provider=broken)
    try:
        with telemetry.tracer.start_as_current_span("call"):
            assert urllib3.PoolManager().request("GET", tap().url()).status == 200
    finally:
        onewrite.uninstall()
    assert onewrite.hook_failures() == failures + 1
    assert "onewrite.total_ns" in (telemetry.spans()[0].attributes or {})
    assert telemetry.metrics()["onewrite.wait.duration"][0].count == 1
    telemetry.close()


def test_hooks_that_are_switched_off(telemetry: Telemetry, tap: typing.Any) -> None:
    onewrite.opentelemetry.instrument(hooks_disabled=True, **telemetry.ours)
    urllib3.PoolManager().request("GET", tap().url())
    assert onewrite.status().hooks == 0
    assert not telemetry.logs()


def test_options_are_passed_on_to_install(telemetry: Telemetry, tap: typing.Any) -> None:
    timings: list[onewrite.Timing] = []
    onewrite.opentelemetry.instrument(logs=False, on_timing=timings.append, coalesce_max=100, **telemetry.ours)
    urllib3.PoolManager().request("GET", tap().url())
    assert len(timings) == 1
    assert onewrite.status().options["coalesce_max"] == 100
    assert not telemetry.logs()
    metrics = telemetry.metrics()
    assert metrics["onewrite.wait.duration"][0].count == 1
    with pytest.raises(TypeError):
        onewrite.opentelemetry.instrument(no_such_option=True)


def test_listeners_of_one_provider_share_their_metrics(telemetry: Telemetry, tap: typing.Any) -> None:
    server = tap()
    clients = [onewrite.PoolManager(listener=onewrite.opentelemetry.listener(**telemetry.ours)) for _ in range(2)]
    for http in clients:
        http.request("GET", server.url())
    # A wait with a cause is counted in a point of its own.
    assert sum(point.count for point in telemetry.metrics()["onewrite.wait.duration"]) == 2


def run(program: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *more], capture_output=True, text=True, timeout=150, check=False
    )


def test_without_an_sdk_nothing_is_told(tap: typing.Any) -> None:
    done = run(
        "import sys, urllib3, onewrite.opentelemetry\n"
        "onewrite.opentelemetry.instrument()\n"
        "http = urllib3.PoolManager()\n"
        "print([http.request('POST', sys.argv[1], body=b'x').status for _ in range(3)], onewrite.hook_failures())\n"
        "print(any(name.startswith('opentelemetry.sdk') for name in sys.modules))\n",
        tap().url(),
    )
    assert (done.stdout, done.stderr) == ("[200, 200, 200] 0\nFalse\n", "")


def test_without_the_api_the_error_says_what_to_install() -> None:
    done = run(
        "import sys\n"
        "sys.modules['opentelemetry'] = None\n"
        "import onewrite\n"
        "try:\n"
        "    import onewrite.opentelemetry\n"
        "except onewrite.UnsupportedBaseError as error:\n"
        "    print(isinstance(error, ImportError), error)\n"
    )
    assert 'True onewrite.opentelemetry needs OpenTelemetry, pip install "onewrite[opentelemetry]"' in done.stdout


def test_it_is_loaded_only_when_asked() -> None:
    done = run(
        "import sys, onewrite, onewrite.requests, onewrite.httpx\n"
        "onewrite.install(on_timing=print)\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'opentelemetry'])\n"
    )
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("disabled", ["", "onewrite"])
def test_a_program_that_is_not_changed(disabled: str, tap: typing.Any) -> None:
    """``opentelemetry-instrument program``: the entry point, the SDK set up by it, real exporters to the console."""
    server = tap()
    program = (
        "import sys, urllib3, httpx\n"
        "assert 'onewrite' in sys.modules, list(sys.modules)\n"
        "urllib3.PoolManager().request('POST', sys.argv[1] + 'urllib3', body=b'x')\n"
        "httpx.Client(trust_env=False).post(sys.argv[1] + 'httpx', content=b'x')\n"
    )
    if disabled:
        program = program.replace("assert 'onewrite' in", "assert 'onewrite' not in")
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("opentelemetry-instrument"),
            *("--traces_exporter", "console", "--metrics_exporter", "console", "--logs_exporter", "console"),
            sys.executable,
            "-c",
            program,
            server.url(),
        ],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env={**os.environ, "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": disabled},
    )
    assert done.returncode == 0, done.stderr
    assert [one.line for one in server.seen] == ["POST /urllib3 HTTP/1.1", "POST /httpx HTTP/1.1"]
    found = done.stdout.count('"event_name": "onewrite.request"')
    if disabled:
        assert not found
        return
    assert found == 2
    assert [one.segments for one in server.seen] == [1, 1]
    for name in ("onewrite.wait.duration", "onewrite.requests"):
        assert f'"name": "{name}"' in done.stdout
    # The span, and the log event, of each.
    assert done.stdout.count('"onewrite.wait_ns"') == 4


def test_instrumentor(telemetry: Telemetry, tap: typing.Any) -> None:
    instrumentor = onewrite.opentelemetry.OnewriteInstrumentor()
    server = tap()
    instrumentor.instrument(**telemetry.ours, tracer_provider=telemetry.tracer_provider)
    try:
        with httpx.Client(trust_env=False) as client:
            client.get(server.url("/httpx"))
        urllib3.PoolManager().request("GET", server.url("/urllib3"))
    finally:
        instrumentor.uninstrument()
    with httpx.Client(trust_env=False) as client:
        client.get(server.url("/after"))
    urllib3.PoolManager().request("GET", server.url("/after"))
    assert [one.attributes["url.full"] for one in telemetry.logs()] == [
        server.url("/httpx"),
        server.url("/urllib3"),
    ]
    assert not onewrite.status().enabled
