"""Who stalls today: runs the programs of stock/ against a local server, and writes the table of docs/do-i-have-it.md.

usage: victims.py [--requests N] [--only LANGUAGE] [--no-page]
exit: 0 measured, 2 inconclusive (the control did not stall), 3 nothing could run
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onewrite_bench.ends import tied
from onewrite_lab.certificates import shared as certificates
from onewrite_lab.servers.children import installed
from onewrite_lab.tap import Tap

from shared import HERE, JSON, ROOT, Missing, Sample, fill, machine, measure, table
from shared import run as run_program

PAGE = ROOT / "docs" / "do-i-have-it.md"
PROGRAMS = HERE / "stock"
SERVER, PROXY, TUNNEL, TLS = "server", "forward proxy", "CONNECT proxy", "TLS server"


@dataclass(frozen=True)
class Victim:
    """`arguments` go to the language's program; `to` says what is at the other end; `cure` what `--cured` does."""

    language: str
    library: str
    condition: str
    arguments: tuple[str, ...]
    to: str
    cure: str
    runtime: str = ""  # another Node than the one on PATH, or this JRuby


INSTALL = "`onewrite.install()`"
HTTPX = "`onewrite.httpx.install()`"
OKHTTP = "`onewrite-okhttp`"
VICTIMS = (
    Victim("python", "requests", "`HTTP_PROXY` is set", ("requests",), PROXY, INSTALL),
    Victim("python", "requests", "`HTTPS_PROXY` is set (CONNECT tunnel)", ("requests",), TUNNEL, INSTALL),
    Victim("python", "urllib3", "`socket_options=` without TCP_NODELAY", ("urllib3-socket-options",), SERVER, INSTALL),
    Victim("python", "sentry-sdk", "`keep_alive=True`", ("sentry",), SERVER, INSTALL),
    Victim("python", "urllib3", "as it comes", ("urllib3",), SERVER, INSTALL),
    Victim("python", "botocore (DynamoDB PutItem)", "as it comes", ("botocore",), SERVER, INSTALL),
    Victim("python", "httpx", "as it comes", ("httpx",), SERVER, HTTPX),
    Victim("python", "httpx", "form with a file", ("httpx-form",), SERVER, HTTPX),
    Victim("python", "openai (httpx2)", "as it comes", ("openai",), SERVER, HTTPX),
    Victim("ruby", "http.rb", "body streamed (chunked)", ("http_rb",), SERVER, '`require "onewrite/http_rb"`'),
    Victim("ruby", "excon", "`request_block:`", ("excon",), SERVER, '`require "onewrite/excon"`'),
    Victim("ruby", "httpclient", "body is an IO", ("httpclient",), SERVER, '`require "onewrite/httpclient"`'),
    Victim("ruby", "Net::HTTP (version: of Ruby)", "as it comes", ("net_http",), SERVER, '`require "onewrite"`'),
    Victim("ruby", "Net::HTTP (version: of Ruby)", "as it comes, on JRuby 1.7.27", ("net_http",), SERVER, '`require "onewrite"`', "1.7.27"),
    Victim("node", "got", "`FormData` over https", ("got-form",), TLS, "`HttpsAgent` of onewrite"),
    Victim("node", "axios", "stream over https", ("axios-stream",), TLS, "`HttpsAgent` of onewrite"),
    Victim("node", "axios", "the same on Node 22.23.3", ("axios-stream",), TLS, "`HttpsAgent` of onewrite", "22.23.3"),
    Victim("node", "axios", "the same on Node 24.21.0", ("axios-stream",), TLS, "`HttpsAgent` of onewrite", "24.21.0"),
    Victim("node", "AWS SDK's HTTP handler", "stream over https", ("smithy-stream",), TLS, "`HttpsAgent` of onewrite"),
    Victim("node", "node:https", "body ends after the headers were flushed", ("node-https-late-body",), TLS, "`HttpsAgent` of onewrite"),
    Victim("node", "undici", "own `connect` function, `FormData`", ("undici-connector-form",), SERVER, "`Agent` of onewrite"),
    Victim("node", "undici", "string body, as it comes", ("undici-string",), SERVER, "`Agent` of onewrite"),
    Victim("java", "OkHttp", "body of 20,000 bytes", ("okhttp", "20000"), SERVER, OKHTTP),
    Victim("java", "OkHttp", "body of 20,000 bytes over https", ("okhttp", "20000"), TLS, OKHTTP),
    Victim("java", "OkHttp", "every new TLS 1.3 connection, handshake included", ("okhttp", "fresh"), TLS, OKHTTP),
    Victim("java", "OkHttp", "body of 200 bytes, as it comes", ("okhttp", "200"), SERVER, OKHTTP),
    Victim("java", "Helidon WebClient", "body streamed, two writes", ("helidon",), SERVER, "`SocketOptions`: `tcpNoDelay(true)`"),
)


def python_command() -> list[str]:
    folder = HERE / ".venv"
    python = folder / "bin" / "python"
    stamp, wanted = folder / ".ready", (PROGRAMS / "python" / "requirements.txt").read_text()
    if not stamp.is_file() or stamp.read_text() != wanted:
        run([sys.executable, "-m", "venv", str(folder)])
        run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r",
             str(PROGRAMS / "python" / "requirements.txt")])
        stamp.write_text(wanted)
    return [str(python), str(PROGRAMS / "python" / "victim.py")]


def ruby_command() -> list[str]:
    packages("ruby", "ruby-http", "ruby-excon", "ruby-httpclient")
    return [installed("ruby"), "-W0", "-I", str(ROOT / "ruby" / "lib"), str(PROGRAMS / "ruby" / "victim.rb")]


def jruby(version: str) -> str:
    run([str(ROOT / "ruby" / "tools" / "jruby"), "fetch", version])
    return str(ROOT / "ruby" / "tools" / "jruby")


def node_command() -> list[str]:
    folder = PROGRAMS / "node"
    there, wanted = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    if not there.is_file() or there.stat().st_mtime < wanted.stat().st_mtime:
        run([installed("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder)
    return [installed("node", "nodejs"), "--no-warnings", str(folder / "victim.mjs")]


def other_node(version: str) -> str:
    """Another version of Node, from npm's package for this platform."""
    names = {("Linux", "x86_64"): "linux-x64", ("Linux", "aarch64"): "linux-arm64", ("Darwin", "arm64"): "darwin-arm64"}
    name = names.get((platform.system(), platform.machine()))
    if name is None:
        raise Missing(f"npm has no Node for {platform.system()} {platform.machine()}")
    folder = ROOT / "build" / "surveys" / f"node-{version}"
    program = folder / "node_modules" / f"node-{name}" / "bin" / "node"
    if not program.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        run([installed("npm"), "install", "--prefix", str(folder), "--ignore-scripts", "--no-save", "--no-audit", "--no-fund",
             f"node-{name}@{version}"])
    return str(program)


def java_jars(profile: str) -> str:
    jars = PROGRAMS / "java" / "target" / profile
    if not jars.is_dir():
        run([installed("mvn", "maven"), "-q", "-B", f"-P{profile}", "dependency:copy-dependencies", "-DincludeScope=runtime",
             f"-DoutputDirectory={jars}"], cwd=PROGRAMS / "java")
    return os.pathsep.join([f"{jars}/*", *(str(ROOT / "java" / module / "target" / "classes") for module in ("core", "okhttp"))])


def java_command() -> list[str]:
    if not (ROOT / "java" / "okhttp" / "target" / "classes").is_dir():
        run([installed("make"), "--no-print-directory", "-C", str(ROOT / "java"), "setup"])
    return [installed("java", "openjdk-17-jdk-headless")]


def newer_java() -> str:
    """A Java of 21 or more: Helidon 4 wants it."""
    for path in [shutil.which("java"), *map(str, sorted(Path("/usr/lib/jvm").glob("*/bin/java")))]:
        if path:
            out = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
            text = out.partition('version "')[2]
            if text.split(".")[0].split('"')[0].isdigit() and int(text.split(".")[0].split('"')[0]) >= 21:
                return path
    raise Missing("Helidon 4 needs Java 21 or newer")


COMMANDS: dict[str, Callable[[], list[str]]] = {
    "python": python_command, "ruby": ruby_command, "node": node_command, "java": java_command}


def packages(*names: str) -> None:
    run([str(ROOT / ".ci" / "packages"), *names])


def run(command: list[str], cwd: Path | None = None) -> None:
    """Raises Missing with the last line of the program's output when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, cwd=cwd, check=False)
    if done.returncode:
        raise Missing(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")


ROUTES = {SERVER: ("http", "direct"), TLS: ("https", "direct"), PROXY: ("http", "forward"), TUNNEL: ("https", "connect")}


def one(victim: Victim, command: list[str], requests: int, *, cured: bool) -> tuple[str, list[str]]:
    """Runs one program against a new tap: the library's version, and two cells. Raises Missing when it cannot run."""
    scheme, route = ROUTES[victim.to]
    with Tap(JSON, scheme=scheme, route=route) as tap:
        url = {SERVER: f"{tap.base}/", TLS: f"https://localhost:{tap.port}/",
               PROXY: "http://service.example/", TUNNEL: "https://localhost/"}[victim.to]
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("ONEWRITE_") and not name.lower().endswith("_proxy")}
        env |= {"PYTHONPATH": str(ROOT / "python" / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        if scheme == "https":
            env |= dict.fromkeys(("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), certificates().ca_file)
        if tap.proxy_url:
            env |= dict.fromkeys((f"{scheme}_proxy", f"{scheme.upper()}_PROXY"), tap.proxy_url)
        first, *rest = victim.arguments
        if victim.language == "java":
            program, java = ("OkHttpVictim", command[0]) if first == "okhttp" else ("HelidonVictim", newer_java())
            command = [java, "-cp", java_jars(first), str(PROGRAMS / "java" / f"{program}.java"), *rest]
        elif victim.language == "ruby":
            command = [*([jruby(victim.runtime), "run", victim.runtime] if victim.runtime else command[:1]), *command[1:], first]
        else:
            command = [other_node(victim.runtime) if victim.runtime else command[0], *command[1:], first]
        try:
            done = subprocess.run([*tied(), *command, url, str(requests), *(["--cured"] if cured else [])],
                                  capture_output=True, text=True, timeout=120, env=env, check=False)
        except subprocess.TimeoutExpired as error:
            raise Missing("it did not end within 120 s") from error
        counts = [exchange.segments for exchange in tap.exchanges if exchange.complete]
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise Missing(next((line for line in reversed(lines) if "rror" in line), lines[-1]).strip()[:200])
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    times = answer["times_ms"]
    # On a new connection the handshake's last segment may be counted to the request: no count is better than a wrong one.
    known = [] if "fresh" in victim.arguments else [count for count in counts[-len(times):] if count is not None]
    sample = Sample(tuple(times), statistics.mode(known) if known else None)
    return answer["version"], [sample.cell(), "" if sample.segments is None else str(sample.segments)]


def main() -> int:
    parser = argparse.ArgumentParser(description="Who stalls today.")
    parser.add_argument("--requests", type=int, default=40, help="per program, after 16 of warm-up")
    parser.add_argument("--only", choices=sorted(COMMANDS), help="one language; the page is left as it is")
    parser.add_argument("--no-page", action="store_true")
    options = parser.parse_args()
    rows: list[list[str]] = []
    skipped: list[str] = []
    commands: dict[str, list[str]] = {}
    with Tap() as tap:
        control = measure(tap.port, requests=options.requests)
    for language, command in COMMANDS.items():
        if options.only in (None, language):
            try:
                commands[language] = command()
            except Missing as missing:
                skipped.append(f"{language}: {missing}")
    for victim in VICTIMS:
        if victim.language not in commands:
            continue
        name = f"{victim.library}, {victim.condition}"
        try:
            version, before = one(victim, commands[victim.language], options.requests, cured=False)
            _, after = one(victim, commands[victim.language], options.requests, cured=True)
        except Missing as missing:
            skipped.append(f"{name}: {missing}")
            print(f"  {name}: skipped: {missing}", file=sys.stderr)
            continue
        rows.append([victim.library, version, victim.condition, *before, victim.cure, *after])
        print("  " + " | ".join(rows[-1]), file=sys.stderr)
    raw = control["Nagle, two writes"]
    if not raw.stalls:
        print("victims: inconclusive: the control did not stall on this machine; nothing was written", file=sys.stderr)
        return 2
    if not rows:
        print("victims: nothing could run: " + "; ".join(skipped), file=sys.stderr)
        return 3
    if not options.no_page and not options.only:
        head = ["library", "version", "condition", "p50, over 30 ms", "segments per POST", "cured by", "p50, over 30 ms", "segments"]
        text = table(head, rows) + (
            f"\nMeasured {time.strftime('%Y-%m-%d')}: {machine()}; {runtimes(commands)}. In the same run a raw socket with Nagle on "
            f"and two writes took {raw.p50_ms:.1f} ms at the median, one with one write {control['Nagle, one write'].p50_ms:.1f} ms.\n")
        text += "".join(f"Not measured in this run: {one}.\n" for one in skipped)
        fill(PAGE, {"victims": text})
    return 0


def runtimes(commands: dict[str, list[str]]) -> str:
    """The versions that the runtimes report."""
    flags = {"python": "--version", "ruby": "--version", "node": "--version", "java": "-version"}
    told = []
    for language, command in commands.items():
        done = subprocess.run([command[0], flags[language]], capture_output=True, text=True, timeout=30, check=False)
        words = (done.stdout or done.stderr).splitlines()[0].split(" (")[0].split(" 20")[0].replace('"', "")
        told.append(f"Node {words}" if language == "node" else words)
    return ", ".join(told)


if __name__ == "__main__":
    run_program(main)
