"""The tracers and mocks of the matrix: how each is switched on, and what it then records of the calls.

A tracer says its spans, each a line without what differs from run to run, and their ids.
A mock answers one URL; what it does not know it lets pass to the wire.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import typing

ANSWER = "from the mock"


class Tool:
    """A tracer or mock. ``clients`` names the clients whose requests it sees: urllib3, requests or both."""

    clients: tuple[str, ...] = ("urllib3", "requests")
    mocks = False
    #: Whether requests without a mock are sent.
    passes = True

    def __init__(self, url: str) -> None:
        self.url = url
        #: What a mock answers.
        self.mocked = url + "/mocked"

    def start(self) -> None:
        """Patch."""
        raise NotImplementedError

    @contextlib.contextmanager
    def under(self) -> typing.Iterator[None]:
        """A context for the calls: some tracers record only inside a transaction."""
        yield

    def stop(self) -> None:
        """Undo start(); a tracer cannot be undone."""

    def spans(self) -> list[tuple[str, str]]:
        """Id and content of each span."""
        return []


class OpenTelemetry(Tool):
    instrumentor: str

    def start(self) -> None:
        import importlib

        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        name = self.instrumentor
        module = importlib.import_module(f"opentelemetry.instrumentation.{name.lower().removesuffix('instrumentor')}")
        getattr(module, name)().instrument(tracer_provider=provider)

    def spans(self) -> list[tuple[str, str]]:
        return [
            (
                f"{span.context.span_id:016x}",
                f"{span.name} {sorted((key, str(value)) for key, value in span.attributes.items())}",
            )
            for span in self.exporter.get_finished_spans()
        ]


class OpenTelemetryUrllib3(OpenTelemetry):
    instrumentor = "URLLib3Instrumentor"


class OpenTelemetryRequests(OpenTelemetry):
    instrumentor = "RequestsInstrumentor"
    clients = ("requests",)


class Datadog(Tool):
    def start(self) -> None:
        os.environ.update(
            DD_INSTRUMENTATION_TELEMETRY_ENABLED="false",
            DD_REMOTE_CONFIGURATION_ENABLED="false",
            DD_TRACE_STARTUP_LOGS="false",
            DD_CRASHTRACKING_ENABLED="false",
        )
        import ddtrace
        from ddtrace.trace import TraceFilter, tracer

        found = self.found = []

        class Keep(TraceFilter):
            def process_trace(self, trace: typing.Any) -> None:
                found.extend(trace)

        tracer.configure(trace_processors=[Keep()])
        ddtrace.patch(urllib3=True, requests=True)

    def spans(self) -> list[tuple[str, str]]:
        said = []
        for span in self.found:
            kept = ["http.method", "http.status_code", "http.url", "component", "span.kind", "error.type"]
            tags = {name: span.get_tag(name) for name in kept}
            said.append((f"{span.span_id:016x}", f"{span.name} {span.service} {span.error} {sorted(tags.items())}"))
        return said


class Elastic(Tool):
    def start(self) -> None:
        import elasticapm
        from elasticapm.transport.base import Transport

        kept = self.kept = []

        class Keep(Transport):
            def queue(self, event_type: str, data: typing.Any, flush: bool = False) -> None:
                kept.append((event_type, data))

            def start_thread(self, pid: int | None = None) -> None:
                pass

        os.environ["ELASTIC_APM_TRANSPORT_CLASS"] = "__main__.ElasticTransport"
        import __main__

        __main__.ElasticTransport = Keep
        self.client = elasticapm.Client(
            service_name="matrix",
            central_config=False,
            metrics_interval="0s",
            cloud_provider=False,
            span_compression_enabled=False,
            exit_span_min_duration="0ms",
            breakdown_metrics=False,
        )
        elasticapm.instrument()

    @contextlib.contextmanager
    def under(self) -> typing.Iterator[None]:
        self.client.begin_transaction("request")
        yield
        self.client.end_transaction("calls", "success")

    def spans(self) -> list[tuple[str, str]]:
        return [
            (data["id"], f"{data['name']} {data['type']} {data.get('outcome')} {data['context'].get('http')}")
            for kind, data in self.kept
            if kind == "span"
        ]


class NewRelic(Tool):
    def start(self) -> None:
        os.environ.update(NEW_RELIC_DEVELOPER_MODE="true", NEW_RELIC_APP_NAME="matrix", NEW_RELIC_LOG_LEVEL="error")
        import newrelic.agent

        newrelic.agent.initialize()
        self.application = newrelic.agent.register_application(timeout=20.0)

    @contextlib.contextmanager
    def under(self) -> typing.Iterator[None]:
        import newrelic.agent

        with newrelic.agent.BackgroundTask(self.application, name="calls"):
            yield

    def spans(self) -> list[tuple[str, str]]:
        from newrelic.core.agent import agent_instance

        events = agent_instance().application(self.application.name)._stats_engine.span_events
        said = []
        for intrinsics, _, attributes in sorted(events, key=lambda event: event[0]["timestamp"]):
            if intrinsics.get("category") == "http":
                known = [intrinsics.get(name) for name in ("name", "component", "span.kind")]
                # The file of the wrapped code differs with own classes.
                kept = {name: value for name, value in attributes.items() if not name.startswith("code.")}
                said.append((intrinsics["guid"], f"{known} {sorted(kept.items(), key=str)}"))
        return said


class Sentry(Tool):
    def start(self) -> None:
        import sentry_sdk

        self.transactions: list[typing.Any] = []

        def keep(event: typing.Any, hint: typing.Any) -> None:
            self.transactions.append(event)

        sentry_sdk.init(
            "http://public@127.0.0.1:9/1",
            traces_sample_rate=1.0,
            before_send_transaction=keep,
            before_send=lambda event, hint: None,
            trace_propagation_targets=[".*"],
            enable_backpressure_handling=False,
        )

    @contextlib.contextmanager
    def under(self) -> typing.Iterator[None]:
        import sentry_sdk

        with sentry_sdk.start_transaction(name="calls", op="test"):
            yield

    def spans(self) -> list[tuple[str, str]]:
        return [
            (span["span_id"], f"{span['op']} {span['description']} {span.get('status')} {span['data'].get('reason')}")
            for event in self.transactions
            for span in event["spans"]
        ]


class Mock(Tool):
    mocks = True


class Vcr(Mock):
    def start(self) -> None:
        import vcr

        self.folder = tempfile.TemporaryDirectory()
        path = f"{self.folder.name}/cassette.yaml"
        recorded = {
            "request": {"method": "POST", "uri": self.mocked, "body": "x" * 200, "headers": {}},
            "response": {
                "status": {"code": 201, "message": "Created"},
                "headers": {"Content-Type": ["text/plain"], "Content-Length": [str(len(ANSWER))]},
                "body": {"string": ANSWER},
            },
        }
        with open(path, "w") as cassette:
            json.dump({"interactions": [recorded] * 6, "version": 1}, cassette)
        self.cassette = vcr.use_cassette(path, record_mode="new_episodes")
        self.tape = self.cassette.__enter__()

    def stop(self) -> None:
        self.cassette.__exit__(None, None, None)
        self.folder.cleanup()

    def spans(self) -> list[tuple[str, str]]:
        """The requests on the cassette, which records what it lets pass."""
        return [("", f"{request.method} {request.path}") for request in self.tape.requests]


class Responses(Mock):
    clients = ("requests",)

    def start(self) -> None:
        import responses

        self.mock = responses.RequestsMock(assert_all_requests_are_fired=False)
        self.mock.start()
        self.mock.add(responses.POST, self.mocked, body=ANSWER, status=201)
        self.mock.add_passthru(self.url)

    def stop(self) -> None:
        self.mock.stop()
        self.mock.reset()

    def spans(self) -> list[tuple[str, str]]:
        return [("", f"{call.request.method} {call.request.url}") for call in self.mock.calls]


class RequestsMock(Mock):
    clients = ("requests",)

    def start(self) -> None:
        import requests_mock

        self.mock = requests_mock.Mocker(real_http=True)
        self.mock.start()
        self.mock.post(self.mocked, text=ANSWER, status_code=201)

    def stop(self) -> None:
        self.mock.stop()

    def spans(self) -> list[tuple[str, str]]:
        return [("", f"{request.method} {request.url}") for request in self.mock.request_history]


class Pook(Mock):
    def start(self) -> None:
        import pook

        pook.on()
        pook.enable_network()
        self.mock = pook.post(self.mocked).times(6).reply(201).body(ANSWER).mock

    def stop(self) -> None:
        import pook

        pook.off()

    def spans(self) -> list[tuple[str, str]]:
        return [("", str(self.mock.total_matches))]


class Httpretty(Mock):
    passes = False  # over stock a new connection past it ends in ProtocolError

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.mocked = "http://mocked.invalid/mocked"  # it takes a host whole

    def start(self) -> None:
        import httpretty

        httpretty.enable(allow_net_connect=True, verbose=False)
        httpretty.register_uri(httpretty.POST, self.mocked, body=ANSWER, status=201)

    def stop(self) -> None:
        import httpretty

        httpretty.disable()

    def spans(self) -> list[tuple[str, str]]:
        import httpretty

        # It records a request once per write: with stock twice, for head and body.
        return [("", one) for one in sorted({f"{one.method} {one.path}" for one in httpretty.latest_requests()})]


TOOLS: dict[str, type[Tool]] = {
    "opentelemetry-urllib3": OpenTelemetryUrllib3,
    "opentelemetry-requests": OpenTelemetryRequests,
    "ddtrace": Datadog,
    "elastic-apm": Elastic,
    "newrelic": NewRelic,
    "sentry-sdk": Sentry,
    "vcrpy": Vcr,
    "responses": Responses,
    "requests-mock": RequestsMock,
    "pook": Pook,
    "httpretty": Httpretty,
}
