"""One client per ``open``: urllib3's managers or a requests session, with the options of the protocol."""

from __future__ import annotations

import hashlib
import socket
import ssl
import typing

import urllib3

from bodies import Body, SizedStream
from hooks import Hooks
from kinds import Kind, Skipped

Options = dict[str, typing.Any]


class Ask(typing.NamedTuple):
    """A request as the protocol has it; times in seconds."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: Body
    timeout: float | None = None
    #: Whether its answer is read to the end.
    read: bool = True


class Answer(typing.NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes | None

    def digest(self) -> str | None:
        return None if self.body is None else hashlib.sha256(self.body).hexdigest()


def socket_option(option: dict[str, typing.Any]) -> tuple[int, int, typing.Any]:
    name = option["name"]
    if not hasattr(socket, name):
        raise Skipped(f"no socket option {name} here")
    level = socket.SOL_SOCKET if name.startswith("SO_") else socket.IPPROTO_TCP
    return (level, getattr(socket, name), option["value"])


def _plain_connector(manager: typing.Any) -> None:
    """Give *manager* connections that open their sockets in the user's own way and set no option."""

    def connecting(connection_class: typing.Any) -> typing.Any:
        def _new_conn(self: typing.Any) -> socket.socket:
            timeout = self.timeout if isinstance(self.timeout, (int, float)) else None
            return socket.create_connection((self._dns_host, self.port), timeout)

        return type("PlainConnection", (connection_class,), {"_new_conn": _new_conn})

    manager.pool_classes_by_scheme = {
        scheme: type("PlainPool", (pool,), {"ConnectionCls": connecting(pool.ConnectionCls)})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def _files(multipart: list[tuple[str, typing.Any]]) -> list[tuple[str, typing.Any]]:
    """The fields of a multipart body as requests and httpx take them: (file name or None, value)."""
    return [(name, value if isinstance(value, tuple) else (None, value)) for name, value in multipart]


class Client:
    """Base of the clients of all APIs."""

    def __init__(self, kind: Kind, options: Options) -> None:
        self.kind = kind
        self.options = options
        self.keepalive = options.get("keepalive", True)
        self.hooks = Hooks(options.get("hooks") or "none")
        if self.hooks.on and not kind.hooks:
            raise Skipped(f"{kind.name} has no hooks")
        self.own: dict[str, typing.Any] = dict(options.get("adapter") or {})
        if "disabled" in self.own:
            raise Skipped("disabled is given by the environment alone")
        if self.hooks.on:
            self.own["on_timing"] = self.hooks.on_timing
        kind.prepare(self.own)
        self.retries = int(options.get("retries") or 0)
        self.redirects = bool(options.get("redirects"))
        self.size = int(options.get("pool_size") or 1)
        connect = options.get("connect_timeout_ms")
        self.connect_timeout = connect / 1000 if connect else None
        pool = options.get("pool_timeout_ms")
        self.pool_timeout = pool / 1000 if pool else None
        self.socket_options = None
        if options.get("socket_options") is not None:
            self.socket_options = [socket_option(option) for option in options["socket_options"]]
        #: Made with the options of ``open``; without keep-alive each request makes its own.
        self.http = self._make()

    def _make(self) -> typing.Any:
        """Return a manager, a session or a client of the library."""
        raise NotImplementedError

    def _send(self, http: typing.Any, ask: Ask) -> Answer:
        raise NotImplementedError

    def _end(self, http: typing.Any) -> None:
        http.close()

    def send(self, ask: Ask) -> Answer:
        if self.keepalive:
            return self._send(self.http, ask)
        http = self._make()
        try:
            return self._send(http, ask)
        finally:
            self._end(http)

    def close(self) -> None:
        self._end(self.http)


class Urllib3Client(Client):
    def _make(self) -> typing.Any:
        keywords: dict[str, typing.Any] = {"maxsize": self.size, "block": True}
        if self.options.get("tls_ca"):
            keywords.update(ca_certs=self.options["tls_ca"], cert_reqs="CERT_REQUIRED")
        if self.socket_options is not None:
            keywords["socket_options"] = self.socket_options
        manager = self.kind.manager(self.options.get("proxy"), keywords, self.own)
        if self.options.get("custom_connector"):
            _plain_connector(manager)
        return manager

    def _send(self, http: typing.Any, ask: Ask) -> Answer:
        body = ask.body
        extra: dict[str, typing.Any] = {"redirect": self.redirects}
        if not ask.read:
            extra["preload_content"] = False
        if ask.timeout is not None or self.connect_timeout is not None:
            extra["timeout"] = urllib3.Timeout(connect=self.connect_timeout, total=ask.timeout)
        if self.pool_timeout is not None:
            extra["pool_timeout"] = self.pool_timeout
        extra["retries"] = urllib3.Retry(
            self.retries + (20 if self.redirects else 0),
            connect=self.retries, read=self.retries, status=self.retries, other=self.retries,
            redirect=20 if self.redirects else 0,
            status_forcelist=[503] if self.retries else [],
            allowed_methods=None, raise_on_status=False, raise_on_redirect=False,
        ) if self.retries or self.redirects else False  # fmt: skip
        fields = urllib3.HTTPHeaderDict()
        for name, value in ask.headers:
            fields.add(name, value)
        if body.length is not None:
            fields.setdefault("Content-Length", str(body.length))
        if body.fields is not None:
            extra.update(fields=body.fields, encode_multipart=False)
        elif body.multipart is not None:
            extra.update(fields=body.multipart)
        elif body.data is not None:
            extra["body"] = body.data
        # As a user would: a request without headers is given none.
        extra["headers"] = fields if fields else None
        response = http.request(ask.method, ask.url, **extra)
        answer_body = None
        if ask.read:
            answer_body = response.data
        else:
            response.close()
            response.release_conn()  # close() alone keeps the place in a blocking pool
        return Answer(response.status, list(response.headers.items()), answer_body)

    def _end(self, http: typing.Any) -> None:
        http.clear()


class RequestsClient(Client):
    def _make(self) -> typing.Any:
        import requests

        if self.pool_timeout is not None:
            raise Skipped("requests has no pool timeout")

        socket_options = self.socket_options
        if socket_options is None and self.kind.name == "control":
            socket_options = []
        custom = bool(self.options.get("custom_connector"))

        class Adapter(self.kind.adapter_class()):  # type: ignore[misc]
            def init_poolmanager(self, *args: typing.Any, **kwargs: typing.Any) -> None:
                if socket_options is not None:
                    kwargs["socket_options"] = socket_options
                super().init_poolmanager(*args, **kwargs)
                if custom:
                    _plain_connector(self.poolmanager)

            def proxy_manager_for(self, proxy: str, **kwargs: typing.Any) -> typing.Any:
                if socket_options is not None:
                    kwargs["socket_options"] = socket_options
                fresh = proxy not in self.proxy_manager
                manager = super().proxy_manager_for(proxy, **kwargs)
                if custom and fresh:
                    _plain_connector(manager)
                return manager

        session = requests.Session()
        adapter = Adapter(
            pool_connections=10,
            pool_maxsize=self.size,
            pool_block=True,
            max_retries=urllib3.Retry(
                self.retries, redirect=0, status_forcelist=[503], allowed_methods=None, raise_on_status=False
            )
            if self.retries
            else 0,
            **self.kind.adapter_keywords(self.own),
        )
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        if self.options.get("tls_ca"):
            session.verify = self.options["tls_ca"]
        if self.options.get("proxy"):
            session.proxies = {"http": self.options["proxy"], "https": self.options["proxy"]}
        return session

    def _send(self, http: typing.Any, ask: Ask) -> Answer:
        body = ask.body
        extra: dict[str, typing.Any] = {
            "headers": dict(ask.headers),
            "allow_redirects": self.redirects,
            "stream": not ask.read,
        }
        if len(extra["headers"]) != len(ask.headers):
            raise Skipped("requests takes one value per header name")
        if ask.timeout is not None or self.connect_timeout is not None:
            extra["timeout"] = (self.connect_timeout or ask.timeout, ask.timeout)
        if body.length is not None and not hasattr(body.data, "read"):
            extra["data"] = SizedStream(body)
        elif body.fields is not None:
            extra["data"] = body.fields
        elif body.multipart is not None:
            extra["files"] = _files(body.multipart)
        elif body.data is not None:
            extra["data"] = body.data
        response = http.request(ask.method, ask.url, **extra)
        answer_body = None
        if ask.read:
            answer_body = response.content
        else:
            response.close()
        return Answer(response.status_code, list(response.raw.headers.items()), answer_body)


class HttpxClient(Client):
    """httpx as a second base library; imported on demand."""

    def _make(self) -> typing.Any:
        import httpx

        if self.retries or self.options.get("custom_connector"):
            raise Skipped("httpx repeats no request, and takes no connector of one's own")
        keywords: dict[str, typing.Any] = {
            # No CA is loaded unless one is given: loading certifi's takes longer than the requests of a case.
            "verify": ssl.create_default_context(cafile=self.options["tls_ca"])
            if self.options.get("tls_ca")
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            "limits": httpx.Limits(max_connections=self.size, max_keepalive_connections=self.size),
            "socket_options": self.socket_options,
            "proxy": self.options.get("proxy"),
            "trust_env": False,
        }
        transport = self.kind.transport(keywords, self.own)
        return httpx.Client(transport=transport, trust_env=False, follow_redirects=self.redirects, timeout=None)

    def _send(self, http: typing.Any, ask: Ask) -> Answer:
        import httpx

        body = ask.body
        # A code point up to U+00FF is that byte: httpx takes bytes, and would refuse text beyond ASCII.
        headers = [
            tuple(text.encode("latin-1") if max(text, default="") <= "\xff" else text for text in field)
            for field in ask.headers
        ]
        extra: dict[str, typing.Any] = {}
        if body.fields is not None:
            extra["data"] = dict(body.fields)
        elif body.multipart is not None:
            extra["files"] = _files(body.multipart)
        elif body.data is not None:
            extra["content"] = body.data
        if body.length is not None and not hasattr(body.data, "read"):
            headers = [*headers, (b"Content-Length", str(body.length).encode())]
        limits = httpx.Timeout(ask.timeout, connect=self.connect_timeout or ask.timeout, pool=self.pool_timeout)
        request = http.build_request(ask.method, ask.url, headers=headers, timeout=limits, **extra)
        response = http.send(request, stream=True)
        answer_body = None
        try:
            if ask.read:
                answer_body = response.read()
        finally:
            response.close()
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
        return Answer(response.status_code, fields, answer_body)


#: Of the driver's capabilities, what httpx has not, and what its adapter cannot see: the look-up of a name, and the
#: wait for a free connection.
HTTPX_MISSING = frozenset(
    ("retries", "custom_connector", "dns_split", "queue", "resend", "writes", "gather", "rwnd_limited")
)

APIS: dict[str, type[Client]] = {"urllib3": Urllib3Client, "requests": RequestsClient, "httpx": HttpxClient}


def open_client(kind: Kind, options: Options) -> Client:
    api = options.get("api") or "urllib3"
    if api not in APIS:
        raise Skipped(f"no api {api!r}: this driver has {sorted(APIS)}")
    return APIS[api](kind, options)
