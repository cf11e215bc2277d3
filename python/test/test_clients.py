"""Real clients over the adapter: what they send leaves in one segment, with TCP_NODELAY on."""

from __future__ import annotations

import contextlib
import copy
import pickle
import socket
import ssl
import struct
import subprocess
import sys
import threading
import typing

import pytest
import urllib3

import onewrite
from onewrite._nodelay import tcp_socket
from tap import Peer, Tap, listening, mode, reply

requests = pytest.importorskip("requests")
import onewrite.requests  # noqa: E402 - needs requests

ROUNDS = 8
nightly = pytest.mark.nightly


def one_segment(server: Tap, count: int = ROUNDS) -> None:
    assert len(server.seen) >= count
    assert mode(one.segments for one in server.seen[-count:]) == 1


@pytest.fixture(params=["adapter", "installed"])
def session(request: pytest.FixtureRequest, authority: typing.Any) -> typing.Iterator[typing.Any]:
    made = requests.Session()
    made.trust_env = False
    made.verify = authority.pem
    if request.param == "adapter":
        made.mount("http://", onewrite.requests.Adapter())
        made.mount("https://", onewrite.requests.Adapter())
    else:
        onewrite.install()
    yield made
    made.close()


@pytest.mark.parametrize("route", ["http", "https", "forward", "connect"])
def test_bodies_of_requests_leave_in_one_segment(route: str, session: typing.Any, tap: typing.Any) -> None:
    tls = route in ("https", "connect")
    server = tap(tls=tls, proxy=route in ("forward", "connect"))
    if server.proxy:
        session.proxies = {"http": server.url(), "https": server.url()}
    url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}/"
    bodies: list[dict[str, typing.Any]] = [
        {"json": {"a": 1}},
        {"data": {"a": "b"}},
        {"data": b"x" * 200},
        {"data": "x" * 200},
        {"files": {"f": b"x" * 200}},
    ]
    for keywords in bodies:
        for _ in range(ROUNDS):
            if hasattr(keywords.get("data"), "seek"):
                keywords["data"].seek(0)
            assert session.post(url, **keywords).content == b"ok"
        one_segment(server)
    assert server.connections == 1


def test_requests_timing_and_errors(tap: typing.Any) -> None:
    records: list[onewrite.Record] = []
    session = requests.Session()
    session.mount("http://", onewrite.requests.Adapter(on_timing=records.append))
    assert session.post(tap().url(), data=b"x" * 200).status_code == 200
    assert [one.status for one in records] == [200]
    assert records[0].bytes_received == 2
    with pytest.raises(requests.ConnectionError):
        session.get("http://127.0.0.1:1/")
    assert records[-1].error_kind == "connect"


class Exporter:
    """It cannot be copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.records: list[onewrite.Record] = []

    def on_timing(self, record: onewrite.Record) -> None:
        with self.lock:
            self.records.append(record)


def test_copies_of_a_session(tap: typing.Any) -> None:
    server = tap()
    exporter = Exporter()
    pickled, copied = requests.Session(), requests.Session()
    pickled.mount("http://", onewrite.requests.Adapter())
    copied.mount("http://", onewrite.requests.Adapter(on_timing=exporter.on_timing))
    for session in (pickle.loads(pickle.dumps(pickled)), copy.deepcopy(copied)):
        for _ in range(ROUNDS):
            session.post(server.url(), data=b"x" * 200)
        one_segment(server)
    assert len(exporter.records) == ROUNDS
    with pytest.raises(TypeError, match="observe"):
        onewrite.requests.Adapter(observe="no")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> typing.Any:
    onewrite.install()
    session = pytest.importorskip("botocore.session").Session()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return session


def test_botocore_s3_waits_for_the_100(aws: typing.Any, tap: typing.Any) -> None:
    until = Peer.until
    interim: list[int] = []

    def continuing(peer: Peer, mark: bytes) -> bytes:
        found = until(peer, mark)
        if mark == b"\r\n\r\n" and b"100-continue" in found:
            interim.append(len(peer.buffer))
            peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return found

    server = tap(lambda peer, seen: peer.send(reply(b"")))
    config = pytest.importorskip("botocore.config").Config(s3={"addressing_style": "path"})
    client = aws.create_client("s3", endpoint_url=server.url(), config=config)
    Peer.until = continuing  # type: ignore[method-assign]
    try:
        for _ in range(5):
            client.put_object(Bucket="b", Key="k", Body=b"x" * 200)
    finally:
        Peer.until = until  # type: ignore[method-assign]
    assert interim == [0] * 5, "the body waits for the interim answer"
    assert all(b"x" * 200 in one.body for one in server.seen)


def dynamodb(server: Tap) -> typing.Callable[[], object]:
    client = pytest.importorskip("botocore.session").Session().create_client("dynamodb", endpoint_url=server.url())
    return lambda: client.put_item(TableName="t", Item={"id": {"N": "1"}})


def elastic(server: Tap) -> typing.Callable[[], object]:
    module = pytest.importorskip("elastic_transport")
    node = module.NodeConfig("http", "127.0.0.1", server.port)
    transport = module.Transport([node], node_class=module.Urllib3HttpNode)
    headers = {"content-type": "application/json"}
    return lambda: transport.perform_request("POST", "/i/_doc", body={"a": 1}, headers=headers)


def docker(server: Tap) -> typing.Callable[[], object]:
    client = pytest.importorskip("docker").APIClient(f"tcp://127.0.0.1:{server.port}", version="1.44")
    return lambda: client.exec_create("c", "true")


def kubernetes(server: Tap) -> typing.Callable[[], object]:
    client = pytest.importorskip("kubernetes").client
    api = client.CoreV1Api(client.ApiClient(client.Configuration(host=server.url("").rstrip("/"))))
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="c"), data={"a": "b"})
    return lambda: api.create_namespaced_config_map("default", body)


@pytest.mark.parametrize(
    "make", [dynamodb, *(pytest.param(one, marks=nightly) for one in (elastic, docker, kubernetes))]
)
def test_clients_that_others_have_built(make: typing.Any, aws: typing.Any, tap: typing.Any) -> None:
    json = ("200 OK", "Content-Type: application/json", "X-Elastic-Product: Elasticsearch")
    server = tap(lambda peer, seen: peer.send(reply(b"" if seen.line.startswith("PUT") else b"{}", *json)))
    send = make(server)
    for _ in range(ROUNDS + 1):
        send()
    one_segment(server)
    assert server.connections == 1


VCR = """
import sys, vcr
url, cassette, when = sys.argv[1:4]
if when == "before":
    import onewrite
if when == "installed":
    import onewrite
    onewrite.install(on_timing=lambda timing: records.append(timing))
records = []

def use():
    import onewrite, onewrite.requests, requests, urllib3
    for library in (urllib3, onewrite):
        assert library.PoolManager().request("POST", url, body=b"x").data == b"ok"
    http = onewrite.PoolManager(on_timing=records.append)
    assert http.request("POST", url, body=b"x").data == b"ok"
    session = requests.Session()
    session.mount("http://", onewrite.requests.Adapter())
    assert session.post(url, data=b"x").content == b"ok"

for _ in range(2):
    with vcr.use_cassette(cassette):
        use()
use()
assert {one.outcome for one in records} == {"ok"}
print(len(records))
"""


@pytest.mark.parametrize(
    "when", [pytest.param("before", marks=nightly), pytest.param("inside", marks=nightly), "installed"]
)
def test_vcrpy_records_and_plays(when: str, tap: typing.Any, tmp_path: typing.Any) -> None:
    """Also with own classes, imported before the cassette or inside it."""
    pytest.importorskip("vcr")
    server = tap()
    cassette = str(tmp_path / "cassette.yaml")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", VCR, server.url(), cassette, when],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == (15 if when == "installed" else 3)
    assert len(server.seen) == 8, "four are recorded, then played, and four sent without a cassette"


GREEN = """
import sys
kind = sys.argv[2]
if kind == "gevent":
    from gevent import monkey; monkey.patch_all()
elif kind == "eventlet":
    import eventlet; eventlet.monkey_patch()
elif kind == "pyopenssl":
    import urllib3.contrib.pyopenssl as p; p.inject_into_urllib3()
import urllib3
import onewrite
records = []
onewrite.install(on_timing=records.append)
http = urllib3.PoolManager(ca_certs=sys.argv[3])
for _ in range(8):
    assert http.request("POST", sys.argv[1], body=b"x" * 200).data == b"ok"
assert http.request("POST", sys.argv[1], body=b"x" * 100000).data == b"ok"
assert len(records) == 9 and all(one.outcome == "ok" for one in records)
"""


@pytest.mark.parametrize("tls", [pytest.param(False, marks=nightly), True])
@pytest.mark.parametrize(
    "kind", ["gevent", pytest.param("eventlet", marks=nightly), pytest.param("pyopenssl", marks=nightly)]
)
@pytest.mark.filterwarnings("ignore")
def test_sockets_of_gevent_eventlet_and_pyopenssl(kind: str, tls: bool, tap: typing.Any, authority: typing.Any) -> None:
    pytest.importorskip({"pyopenssl": "OpenSSL"}.get(kind, kind))
    server = tap(tls=tls)
    command = [sys.executable, "-W", "ignore", "-c", GREEN, server.url(), kind, authority.pem]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert mode(one.segments for one in server.seen[:-1]) == 1
    assert len(server.seen[-1].body) == 100_000


def pump(read: typing.Callable[[], bytes], write: typing.Callable[[bytes], object]) -> None:
    with contextlib.suppress(OSError, EOFError):  # the test has closed them
        while data := read():
            write(data)


def relaying(handle: typing.Callable[[socket.socket], tuple[typing.Any, socket.socket]]) -> socket.socket:
    """A proxy: what *handle* returns of a connection, one that has recv() and send(), and one upstream, are joined."""

    def serve(sock: socket.socket) -> None:
        peer, upstream = handle(sock)
        with upstream:
            threading.Thread(target=pump, args=(lambda: upstream.recv(65536), peer.send), daemon=True).start()
            pump(peer.recv, upstream.sendall)

    return listening(serve)


def test_tls_in_tls(recorded: list[onewrite.Record], authority: typing.Any, tap: typing.Any) -> None:
    """An https origin through a tunnel of an https proxy: urllib3's SSLTransport has no getsockopt."""
    origin = tap(tls=True)

    def connect(sock: socket.socket) -> tuple[Peer, socket.socket]:
        peer = Peer(sock, 1, authority.context)
        peer.until(b"\r\n\r\n")
        peer.send(b"HTTP/1.1 200 OK\r\n\r\n")
        return peer, socket.create_connection(("127.0.0.1", origin.port))

    context = ssl.create_default_context(cafile=authority.pem)
    url = f"https://localhost:{origin.port}/"  # 1.26 has no TLS in TLS for addresses
    with relaying(connect) as listener:
        proxy = f"https://localhost:{listener.getsockname()[1]}"
        http = urllib3.ProxyManager(proxy, proxy_ssl_context=context, ca_certs=authority.pem)
        for _ in range(3):
            assert http.request("POST", url, body=b"x" * 200).data == b"ok"
        (conn,) = (conn for conn in http.connection_from_url(url).pool.queue if conn is not None)  # type: ignore[union-attr]
        assert tcp_socket(conn.sock).getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        http.clear()
    assert [one.records for one in origin.seen] == [1, 1, 1]
    assert [one.writes for one in recorded] == [1, 1, 1]
    assert recorded[0].tls_ns
    assert recorded[0].connect_ns


HTTP2 = """
import sys
import urllib3, urllib3.http2
urllib3.http2.inject_into_urllib3()
import onewrite
records = []
onewrite.install(on_timing=records.append)
http = urllib3.PoolManager(ca_certs=sys.argv[2])
for _ in range(3):
    answer = http.request("POST", sys.argv[1], body=b"x" * 200)
    assert (answer.status, answer.data, answer.version) == (200, b"200", 20), (answer.status, answer.data)
assert [one.outcome for one in records] == ["ok"] * 3, records
"""


def test_http2_is_left_alone(authority: typing.Any) -> None:
    """HTTP/2 of urllib3 works under install(), is timed as a call, and runs none of onewrite's methods."""
    h2_connection = pytest.importorskip("h2.connection")
    import h2.config
    import h2.events

    context = authority.server_context()
    context.set_alpn_protocols(["h2"])

    def answer(raw: socket.socket) -> None:
        machine = h2_connection.H2Connection(h2.config.H2Configuration(client_side=False))
        machine.initiate_connection()
        sizes: dict[int, int] = {}
        with context.wrap_socket(raw, server_side=True) as sock:
            sock.sendall(machine.data_to_send())
            while data := sock.recv(65536):
                for event in machine.receive_data(data):
                    stream = getattr(event, "stream_id", None)
                    if isinstance(event, h2.events.DataReceived):
                        sizes[stream] = sizes.get(stream, 0) + len(event.data)
                    elif isinstance(event, h2.events.StreamEnded):
                        machine.send_headers(stream, [(":status", "200")])
                        machine.send_data(stream, str(sizes.get(stream, 0)).encode(), end_stream=True)
                sock.sendall(machine.data_to_send())

    listener = listening(answer)
    url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
    command = [sys.executable, "-W", "ignore", "-c", HTTP2, url, authority.pem]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    listener.close()
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", ["urllib3", "requests"])
def test_socks_proxies(how: str, recorded: list[onewrite.Record], tap: typing.Any) -> None:
    """A minimal SOCKS 5 server (RFC 1928)."""
    pytest.importorskip("socks")
    server = tap()

    def connect(sock: socket.socket) -> tuple[Peer, socket.socket]:
        sock.recv(262)
        sock.sendall(b"\5\0")
        upstream = socket.create_connection(("127.0.0.1", struct.unpack("!H", sock.recv(262)[-2:])[0]))
        sock.sendall(b"\5\0\0\1\0\0\0\0\0\0")
        return Peer(sock, 1, None), upstream

    with relaying(connect) as listener, requests.Session() as session:
        proxy = f"socks5://127.0.0.1:{listener.getsockname()[1]}"
        session.trust_env = False
        session.proxies = {"http": proxy}
        if how == "urllib3":
            from urllib3.contrib.socks import SOCKSProxyManager

            manager: typing.Any = SOCKSProxyManager(proxy)
            for _ in range(3):
                assert manager.request("POST", server.url(), body=b"x" * 200).data == b"ok"
        else:
            for _ in range(3):
                assert session.post(server.url(), data=b"x" * 200).content == b"ok"
            manager = next(iter(session.get_adapter("http://").proxy_manager.values()))
        (pool,) = (manager.pools[key] for key in manager.pools.keys())  # noqa: SIM118 - it is not iterable
        assert pool.pool.queue[-1].sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        manager.clear()
    assert [one.writes for one in recorded] == [1, 1, 1]
    assert {one.proxy for one in recorded} == {proxy.rpartition("/")[2]}
    assert recorded[0].connect_ns
