"""Another team's HAProxy configuration and address: taken as they are, judged without knowing beforehand."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest
import yaml
from command import bench
from onewrite_conformance.driver import Driver, DriverFault
from onewrite_lab.servers import haproxy
from onewrite_lab.servers.children import Children

from onewrite_bench.engines import drivers, preflight
from onewrite_bench.failures import BenchError
from onewrite_bench.run import own
from onewrite_bench.topology.adopt import adopt
from onewrite_bench.topology.guard import guard
from onewrite_bench.topology.places import Places

THEIRS = """
global
    log /dev/log local0
    chroot /var/lib/haproxy
    stats socket /run/haproxy/admin.sock mode 660 level admin
    user haproxy
    daemon
    maxconn 2000

resolvers dns
    nameserver one 10.0.0.2:53

defaults
    log global
    mode http
    timeout connect 5s
    timeout client 50s
    timeout server 50s
    errorfile 400 /etc/haproxy/errors/400.http

frontend www
    bind *:80
    bind :443 ssl crt /etc/ssl/private/site.pem alpn http/1.1   # theirs
    option http-buffer-request
    acl all path_beg /
    use_backend app if all

frontend plain
    bind 10.0.0.1:8080
    default_backend app

backend app
    balance roundrobin
    option httpchk GET /health
    http-check expect status 200
    server app1 10.0.0.11:8080 check inter 2s
    server app2 10.0.0.12:8080 check
"""


def run(out: Path, *more: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`bench run` in its shortest form; TARGET or HAPROXY_CFG says of what."""
    few = ("--languages", "raw", "--requests", "6", "--rounds", "2")
    return bench("run", *few, *more, "--out", str(out), **env)


def target(children: Children, folder: Path, path: str = "/") -> str:
    return f"http://127.0.0.1:{Places(children, {}, folder).port('origin/plain')}{path}"


def test_settings_that_decide_a_stall_are_kept_and_those_of_their_machine_are_dropped() -> None:
    adopted = adopt(THEIRS)
    assert adopted.frontends == [("www-80", "http"), ("www-443", "https"), ("plain-10-0-0-1-8080", "http")]
    live = [line.strip() for line in adopted.text.splitlines() if line.strip() and not line.startswith("#")]
    assert "option http-buffer-request" in live
    assert "use_backend app if all" in live
    assert "balance roundrobin" in live
    assert 'server app1 "${ONEWRITE_ORIGIN}"' in live
    assert 'server app2 "${ONEWRITE_ORIGIN}"' in live  # by its name: a rule may use it
    assert 'bind "fd@${FD_WWW_443}" ssl alpn http/1.1 crt "${ONEWRITE_CERTIFICATE}"' in live
    for theirs in (
        "chroot",
        "user",
        "daemon",
        "log",
        "stats",
        "nameserver",
        "errorfile",
        "option httpchk",
    ):
        assert not [line for line in live if line.startswith(theirs)], theirs
    assert "line 4: chroot left out" in adopted.changed


def test_a_configuration_without_a_tcp_frontend_is_refused() -> None:
    with pytest.raises(BenchError, match="no frontend with a TCP bind line"):
        adopt("frontend a\n  bind /run/a.sock\n")
    with pytest.raises(BenchError, match="line 1 of the HAProxy configuration cannot be read"):
        adopt('acl "open\n')


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1:80",
        "ftp://x/",
        "http://u:secret@host/",
        "http://",
        "http://127.0.0.1:99999/",
        "http://[::1",
        "http://127.0.0.1/a b",
    ],
)
def test_only_an_address_is_a_target(address: str) -> None:
    with pytest.raises(BenchError, match="is not an address like"):
        own.of_target(address, own.Request())


def test_an_address_where_nobody_listens_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        done = run(tmp_path / "out", TARGET=f"http://127.0.0.1:{taken.getsockname()[1]}/")
    assert done.returncode == 3
    assert "takes no connection: Connection refused" in done.stderr
    assert "Traceback" not in done.stderr


FIXTURES = Path(__file__).with_name("fixtures")
DEFAULTS = "defaults\n  mode http\n  timeout connect 5s\n  timeout client 50s\n  timeout server 50s\n"


def live(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


SENDING: dict[str, str] = yaml.safe_load((FIXTURES / "haproxy-sending.yaml").read_text())


@pytest.mark.parametrize("what", SENDING)
def test_their_configuration_sends_nothing_elsewhere(what: str, children: Children, tmp_path: Path) -> None:
    """A listener of this test is the address in their configuration. It must receive nothing."""
    with socket.create_server(("127.0.0.1", 0)) as victim, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        port = victim.getsockname()[1]
        datagrams.bind(("127.0.0.1", port))
        theirs = tmp_path / "their.cfg"
        theirs.write_text(DEFAULTS + SENDING[what].format(victim=f"127.0.0.1:{port}", port=port))
        plan = own.of_configuration(theirs, tmp_path, own.Request())
        places = Places(children, plan.topology, tmp_path)
        kept, unfit = preflight.examine(plan, places)
        assert (unfit, [target.name for target in kept.targets]) == ([], ["a-80"])
        for seen in (victim, datagrams):
            seen.settimeout(0.2)
            with pytest.raises(TimeoutError):
                seen.accept() if seen is victim else seen.recv(1)


@pytest.mark.parametrize(
    "line",
    [
        "dispatch 10.0.0.1:80",
        "server one 10.0.0.1:80",
        'server one "${ONEWRITE_ORIGIN}" source 10.0.0.1',
        "server-template s 1-2 app.example:80",
        "log 10.0.0.1:514 local0",
        "http-request set-dst src",
        "http-request do-resolve(txn.a,dns) hdr(host)",
        "http-request lua.anything",
        "option transparent",
        "filter spoe engine e",
        "bind 0.0.0.0:80",
        "redirect prefix http://www.example.com",
        'http-request "${ACTION}"',
        'option "${OPTION}"',
        "unknown-word tcp@10.0.0.1:90",
        "unknown-word [2001:db8::1]:80",
        "unknown-word app.example.com:8080",
    ],
)
def test_the_last_check_refuses_any_address_that_is_not_ours(line: str) -> None:
    good = 'listen a\n  bind "fd@${FD_A}" ssl crt "${ONEWRITE_CERTIFICATE}"\n  server one "${ONEWRITE_ORIGIN}"\n'
    guard(good + "  acl inside src 10.0.0.0/8 2001:db8::/32\n  http-request deny if !inside { src 10.0.0.1 }\n")
    with pytest.raises(BenchError, match="could send something elsewhere, so nothing was started"):
        guard(good + "  " + line + "\n")


def test_a_comment_does_not_make_an_address_ours() -> None:
    with pytest.raises(BenchError, match="line 2 of the copy"):
        guard('listen a\n  server one 10.0.0.1:80 # "${ONEWRITE_ORIGIN}"\n')


PRODUCTION: dict[str, str] = yaml.safe_load((FIXTURES / "haproxy-production.yaml").read_text())


@pytest.mark.parametrize("what", PRODUCTION)
def test_production_configurations_are_adopted(what: str, children: Children, tmp_path: Path) -> None:
    theirs = tmp_path / "their.cfg"
    theirs.write_text(DEFAULTS + PRODUCTION[what])
    plan = own.of_configuration(theirs, tmp_path, own.Request())
    kept, unfit = preflight.examine(plan, Places(children, plan.topology, tmp_path))
    assert unfit == []
    assert len(kept.targets) == 1


def test_a_mistyped_word_is_shown_with_haproxys_own_hint_and_a_line_to_run_again(tmp_path: Path) -> None:
    theirs = tmp_path / "their.cfg"
    theirs.write_text(DEFAULTS + "frontend a\n  bind :80\n  option http-bufer-request\n  default_backend nowhere\n")
    with pytest.raises(BenchError) as caught:
        own.of_configuration(theirs, tmp_path, own.Request(host="www.example.com"))
    text = str(caught.value)
    assert "their.cfg:8]" in text
    assert "http-bufer-request" in text
    assert "\n" not in text
    again = text.partition("(again: ")[2].removesuffix(")")
    done = subprocess.run(again, shell=True, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0
    assert "http-bufer-request" in done.stderr


def test_of_several_alerts_the_mistyped_word_is_shown() -> None:
    hint = "did you mean 'option' maybe ?"
    output = f"""[NOTICE]   (1) : haproxy version is 2.6.12
[ALERT]    (1) : config : parsing [a.cfg:7] : 'bind' : invalid port '0'
[ALERT]    (1) : config : parsing [a.cfg:8] : unknown keyword 'optoin' in 'frontend' section; {hint}
[ALERT]    (1) : config : Error(s) found in configuration file : a.cfg
[ALERT]    (1) : config : Fatal errors found in configuration.
"""
    assert (haproxy.complaint(output) or "").endswith(hint)
    assert haproxy.complaint(output.replace("did you mean", "or")) == "parsing [a.cfg:7] : 'bind' : invalid port '0'"
    assert haproxy.complaint("nothing") is None


ROUTING = (
    "frontend a\n  bind :80\n  use_backend app if { hdr(host) -i app.example.com } { path_beg /api }\n"
    "  http-request redirect location http://www.example.com/ if { path /moved }\n  default_backend closed\n"
    "backend app\n  server s 10.0.0.1:80\nbackend closed\n  http-request deny deny_status 404\n"
)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (own.Request("/api", "app.example.com"), None),
        (own.Request("/api"), "it answers 404 to POST /api; set PATH_TO_POST=, HOST= or EXPECT=404"),
        (own.Request("/moved"), "it answers 302 to POST /moved; set PATH_TO_POST=, HOST= or EXPECT=302"),
        (own.Request(expect=404), None),
    ],
)
def test_path_host_and_status_can_be_chosen(
    request_: own.Request, expected: str | None, children: Children, tmp_path: Path
) -> None:
    theirs = tmp_path / "their.cfg"
    theirs.write_text(DEFAULTS + ROUTING)
    plan = own.of_configuration(theirs, tmp_path, request_)
    _, unfit = preflight.examine(plan, Places(children, plan.topology, tmp_path))
    assert [verdict.text for verdict in unfit] == ([f"the target fails: {expected}"] if expected else [])


USERS = """global
    setenv NOTHING here
userlist admins
    user root password $6$secret groups ops
    group ops
frontend site
    bind :80
    stats auth root:secret2
    default_backend app
frontend guarded
    bind :81
    http-request auth unless { http_auth(admins) }
    default_backend app
frontend redirects
    bind :82
    redirect scheme https
backend app
    server s 10.0.0.1:80
program other
    command /bin/x --password secret3
"""


def test_frontends_that_never_reach_the_origin_are_left_out_with_a_note(children: Children, tmp_path: Path) -> None:
    theirs = tmp_path / "their.cfg"
    theirs.write_text(DEFAULTS + USERS)
    plan = own.of_configuration(theirs, tmp_path / "copy", own.Request())
    kept, notes = preflight.examine(plan, Places(children, plan.topology, tmp_path))
    assert [target.name for target in kept.targets] == ["site-80"]
    assert [(note.subject, note.state, note.counts) for note in notes] == [
        ("guarded-81", "shown", False),
        ("redirects-82", "shown", False),
    ]
    assert "left out: the target fails: it answers 302 to POST /" in notes[1].text
    assert "FRONTENDS=redirects-82 judges it" in notes[1].text
    picked = own.of_configuration(theirs, tmp_path / "copy", own.Request(frontends=("redirects-82",)))
    _, unfit = preflight.examine(picked, Places(children, picked.topology, tmp_path))
    assert [(one.subject, one.state, one.counts) for one in unfit] == [("redirects-82", "inconclusive", True)]
    with pytest.raises(BenchError, match="FRONTENDS=other: the configuration has site-80, guarded-81, redirects-82"):
        own.of_configuration(theirs, tmp_path / "copy", own.Request(frontends=("other",)))


def test_no_password_is_written(tmp_path: Path) -> None:
    theirs = tmp_path / "their.cfg"
    theirs.write_text(DEFAULTS + USERS)
    own.of_configuration(theirs, tmp_path / "copy", own.Request())
    for file in (tmp_path / "copy").rglob("*.cfg"):
        assert "secret" not in file.read_text()
        assert file.stat().st_mode & 0o077 == 0
    assert "user root insecure-password onewrite groups ops" in (tmp_path / "copy" / "adopted.cfg").read_text()


def test_a_target_that_never_answers_is_said_soon(
    children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "PATIENCE_S", 0.2)
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections and answers nothing
        plan = own.of_target(f"http://127.0.0.1:{silent.getsockname()[1]}/", own.Request())
        _, unfit = preflight.examine(plan, Places(children, plan.topology, tmp_path), said.append)
    assert [verdict.text for verdict in unfit] == ["the target fails: no answer within 0 s"]
    assert "3 requests, to see that it answers" in said[0]


@pytest.mark.timed
@pytest.mark.parametrize("language", ["python", "ruby", "node", "java"])
def test_an_authority_that_is_named_reaches_every_driver(language: str, children: Children, tmp_path: Path) -> None:
    """A certificate that no trust store has: with CA_FILE= it is judged, without it nobody is at fault."""
    if language not in drivers.languages():
        pytest.skip(f"there is no {language} driver")
    places = Places(children, {"tls": True}, tmp_path / "places")
    url = f"https://localhost:{places.port('origin/tls13')}/"
    few = ("--languages", language, "--requests", "6", "--rounds", "2")
    bare = bench("run", *few, "--out", str(tmp_path / "bare"), TARGET=url)
    assert bare.returncode == 2, bare.stdout
    assert "CA_FILE= names an authority" in bare.stdout
    done = bench("run", *few, "--out", str(tmp_path / "out"), TARGET=url, CA_FILE=str(places.certificate_authority))
    cells = json.loads((tmp_path / "out" / "own-target.json").read_text())["cells"]
    mine = [cell for cell in cells if cell["group"] == language]
    if any(cell["skipped"] or cell["failed"] for cell in mine):
        pytest.skip(f"the {language} driver is not set up")
    assert [cell["errors"] for cell in mine] == [0] * len(mine), done.stdout


@pytest.mark.parametrize("env", [{"PATH_TO_POST": "api"}, {"EXPECT": "ok"}, {"EXPECT": "99"}, {"PATH_TO_POST": "/a b"}])
def test_what_to_post_is_checked(env: dict[str, str]) -> None:
    with pytest.raises(BenchError, match="is not a "):
        own.Request.from_environment(env)


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/status/301", 2, "inconclusive: the target fails: it answers 301 to POST "),
        ("/status/503", 2, "inconclusive: the target fails: it answers 503 to POST "),
        ("/closing", 2, "inconclusive: not kept alive: nothing to judge"),
    ],
)
def test_a_target_that_fails_is_never_clean(
    path: str, status: int, text: str, children: Children, tmp_path: Path
) -> None:
    done = run(tmp_path / "out", TARGET=target(children, tmp_path, path))
    assert (done.returncode, "Traceback" in done.stderr) == (status, False)
    assert text in done.stdout
    assert "clean" not in done.stdout


@pytest.mark.timed
def test_a_slow_service_is_judged_by_the_time_above_its_own(children: Children, tmp_path: Path) -> None:
    """The service takes 35 ms for every client: an absolute limit of 30 ms would call all of them stalled."""
    done = run(
        tmp_path / "out", "--languages", "python", "--requests", "10", TARGET=target(children, tmp_path, "/slow?ms=35")
    )
    if "python: not run" in done.stdout:
        pytest.skip("the Python driver is not set up")
    raw = json.loads((tmp_path / "out" / "own-target.json").read_text())
    good = next(cell for cell in raw["cells"] if cell["role"] == "good")
    assert min(good["latencies_us"]) >= 35_000
    assert "python: STALLS" not in done.stdout
    assert "python: clean: " in done.stdout or "inconclusive" in done.stdout


@pytest.mark.parametrize("language", ["raw", "python", "ruby", "node", "java"])
def test_every_driver_counts_a_wrong_status_as_a_failure(language: str, children: Children, tmp_path: Path) -> None:
    command = drivers.command(language)
    if command is None:
        pytest.skip(f"there is no {language} driver")
    origin = f"http://127.0.0.1:{Places(children, {}, tmp_path).port('origin/plain')}"
    try:
        driver = Driver(command, "stock", {})
    except DriverFault as fault:
        pytest.skip(f"the {language} driver is not set up: {fault.detail.splitlines()[0]}")
    try:
        client = driver.open(pool_size=1)
        load = {
            "method": "POST",
            "body": {"kind": "bytes", "size": 200},
            "mode": "closed",
            "connections": 1,
            "count": 3,
        }
        for path, errors in (("/", 0), ("/status/503", 3), ("/status/301", 3)):
            seen = driver.load(client, **load, url=origin + path)
            assert (seen["errors"], len(seen["latencies_us"])) == (errors, 3 - errors), path
            assert seen.get("error_sample") == (f"status {path[-3:]}" if errors else None)
        seen = driver.load(client, **load, url=f"{origin}/status/404", expect=404)
        assert (seen["errors"], len(seen["latencies_us"])) == (0, 3)
    finally:
        driver.bye()


@pytest.mark.timed
def test_their_configuration_is_run_and_judged(tmp_path: Path) -> None:
    theirs = tmp_path / "their.cfg"
    theirs.write_text(THEIRS)
    done = run(tmp_path / "out", HAPROXY_CFG=str(theirs))
    assert "Traceback" not in done.stderr
    raw = json.loads((tmp_path / "out" / "own-haproxy.json").read_text())
    shares = {
        cell["target"]: sum(1 for us in cell["latencies_us"] if us > 30_000) / len(cell["latencies_us"])
        for cell in raw["cells"]
        if cell["role"] == "control"
    }
    assert shares["www-80"] > 0.5
    assert shares["www-443"] > 0.5
    assert shares["plain-10-0-0-1-8080"] < 0.5
    report = (tmp_path / "out" / "RESULTS.md").read_text()
    assert "make bench HAPROXY_CFG=" in report
    for told in (done.stderr, report):
        assert "Left out: line 3: log left out; line 4: chroot left out; " in told


def test_a_result_that_cannot_be_kept_is_shown_and_said_in_one_line(tmp_path: Path, children: Children) -> None:
    """As on a full disk: the folder for results cannot be made."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = run(blocked / "out", TARGET=target(children, tmp_path))
    assert done.returncode == 3
    assert "own-target: the result could not be kept: " in done.stderr
    assert "Traceback" not in done.stderr
    assert "one write" in done.stdout


def test_their_address_is_run(tmp_path: Path, children: Children) -> None:
    done = run(tmp_path / "out", TARGET=target(children, tmp_path))
    assert "Traceback" not in done.stderr
    assert "one write" in done.stdout
    raw = json.loads((tmp_path / "out" / "own-target.json").read_text())
    good = next(cell for cell in raw["cells"] if cell["role"] == "good")
    assert good["errors"] == 0
    assert good["segments"]
