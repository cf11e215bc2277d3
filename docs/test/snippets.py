"""Runs a code block of a page in its language, against a local server that counts segments."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from onewrite_lab.servers.children import Children
from onewrite_lab.servers.haproxy import HAProxy
from onewrite_lab.tap import Answer, Exchange, Script, Tap

ROOT = Path(__file__).resolve().parents[2]
BASE_URL = "http://127.0.0.1:8080"
PROXY = "http://127.0.0.1:3128"
TIMES = 20
DEADLINE_S = 120
#: What a timing record prints.
LINE = r"POST http://\S+ 200 in [\d.]+ ms"


def recipes() -> list[tuple[str, str, str]]:
    """(name, runtime, code) of each block of the recipes, in their order."""
    return blocks("recipe", *sorted((ROOT / "docs").glob("recipes-*.md")))


def blocks(kind: str, *pages: Path) -> list[tuple[str, str, str]]:
    """(name, runtime, code) of each block under a mark `<!-- KIND:NAME RUNTIME -->`."""
    return re.findall(rf"<!-- {kind}:(\S+) (\w+) -->\n```\w+\n(.*?)```", "\n".join(page.read_text() for page in pages), re.DOTALL)


def recipe(name: str) -> str:
    (code,) = [code for one, _, code in recipes() if one == name]
    return code


@dataclass(frozen=True)
class Around:
    """The application around a block: code before it, a POST if the block has none, code at the end."""

    before: str = ""
    post: str = ""
    end: str = ""


def modules(code: str) -> set[str]:
    return {name for name in re.findall(r"^import .*?from '([^']+)'", code, re.MULTILINE) if not name.startswith(("onewrite", "node:"))}


def repeated(code: str, head: str, tail: str) -> str:
    """The recipe with its last line, the POST, in a loop; everything before it runs once, as in a service."""
    before, _, last = code.rstrip("\n").rpartition("\n")
    return f"{before}\n{head}{last.strip()}\n{tail}"


def python(code: str, folder: Path, around: Around) -> list[str]:
    text = repeated(around.before + code + around.post, f"for _ in range({TIMES}):\n    ", "")
    (folder / "recipe.py").write_text(text + around.end)
    return [str(ROOT / "docs" / ".venv" / "bin" / "python"), "recipe.py"]


def ruby(code: str, folder: Path, around: Around) -> list[str]:
    found = shutil.which("ruby")
    if found is None:
        pytest.skip("ruby is not installed: sudo apt-get install ruby")
    code = around.before + code + around.post
    for name in sorted(name for name in set(re.findall(r'require "([^"]+)"', code)) if not name.startswith("onewrite")):
        done = subprocess.run([found, "-W0", "-e", f"require {name!r}"], capture_output=True, timeout=DEADLINE_S, check=False)
        if done.returncode:
            pytest.skip(f"Ruby's {name} is not installed")
    (folder / "recipe.rb").write_text(repeated(code, f"{TIMES}.times {{ ", "}\n") + around.end)
    return [found, "-W0", "-I", str(ROOT / "ruby" / "lib"), "recipe.rb"]


def node_modules(names: set[str], folder: Path) -> str:
    """Lays out what a Node program imports, and returns the node to run it with."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    target = folder / "node_modules"
    target.mkdir()
    (target / "onewrite").symlink_to(ROOT / "node")
    for name in sorted(names):
        folders = [one / name for one in (ROOT / "node" / "node_modules", ROOT / "docs" / "test" / "node" / "node_modules")]
        installed = next((one for one in folders if one.is_dir()), None)
        if installed is None:
            pytest.skip(f"Node's {name} is not installed: make -C docs recipes-setup")
        (target / name).parent.mkdir(exist_ok=True)
        (target / name).symlink_to(installed)
    return found


# Kept connections would keep the process: it ends when its input does, which is when the test has seen all it waits for.
NODE_END = "}\nprocess.stdin.resume().on('end', async () => { %s; process.exit(0) })\n"


def node(code: str, folder: Path, around: Around) -> list[str]:
    code = around.before + code + around.post
    found = node_modules(modules(code), folder)
    # An answer must be read for its call to end, as an application would.
    if "await fetch(" in code:
        code = re.sub(r"await (fetch.*)$", r"const answer = await \1; await answer.text()", code.rstrip("\n"))
    loop = f"for (let turn = 0; turn < {TIMES}; turn++) {{ "
    (folder / "recipe.mjs").write_text(repeated(code, loop, NODE_END % around.end))
    return [found, "--no-warnings", "recipe.mjs"]


def classes() -> list[str]:
    """The folders of the Java adapter's classes."""
    pom = (ROOT / "java" / "pom.xml").read_text()
    folders = [ROOT / "java" / name / "target" / "classes" for name in re.findall(r"<module>([\w-]+)</module>", pom) if name != "driver"]
    return [str(folder) for folder in folders if folder.is_dir()]


#: A recipe is compiled and over before the optimizing compiler pays.
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def java(code: str, folder: Path, around: Around) -> list[str]:
    found, jars = shutil.which("java"), ROOT / "docs" / "test" / "java" / "target" / "libs"
    if found is None:
        pytest.skip("java is not installed")
    if not jars.is_dir():
        pytest.skip("the jars are not here: make -C docs recipes-setup")
    loop = f"for (int turn = 0; turn < {TIMES}; turn++) "
    end = f"while (System.in.read() >= 0) {{}} {around.end} System.exit(0);"
    code, count = re.subn(r"^( +)(client\..*;)$", rf"\1{loop}\2\n\1{end}", code, flags=re.MULTILINE)
    assert count == 1, "the POST must be one statement on a line of its own that begins with `client.`"
    code, count = re.subn(r"(void main\(String\[\] args\)[^{]*\{\n)", lambda match: match[1] + around.before, code)
    assert count == 1, "a recipe in Java has one main"
    (folder / "Recipe.java").write_text(re.sub(r"void main\(String\[\] args\)[^{]*\{", "void main(String[] args) throws Exception {", code))
    path = [f"{jars}/*", *classes()]
    for module in set(re.findall(r"^import io\.github\.onewrite\.(\w+)\.", code, re.MULTILINE)):
        if not any(module == Path(one).parents[1].name.replace("-", "") for one in path[1:]):
            pytest.skip(f"the adapter's {module} is not built: make -C java setup")
    return [found, *SHORT_LIVED, "-cp", os.pathsep.join(path), "Recipe.java"]


RUNTIMES = {"python": python, "ruby": ruby, "node": node, "java": java}


def counted(tap: Tap) -> list[Exchange]:
    """The whole POSTs. Armeria tries HTTP/2 first, which the tap takes for a request."""
    return [one for one in list(tap.exchanges) if one.complete and one.request.head.startswith(b"POST ")]


def run(language: str, code: str, folder: Path, around: Around | None = None, **options: Any) -> tuple[str, list[int]]:
    """As `exchanges`, with the number of data segments of each POST."""
    printed, posts = exchanges(language, code, folder, around, **options)
    return printed, [one.segments or 0 for one in posts]


def exchanges(
    language: str, code: str, folder: Path, around: Around | None = None, *,
    until: str = "", scheme: str = "http", proxied: bool = False, delay_acks: bool = False, more: Mapping[str, str] = MappingProxyType({}),
) -> tuple[str, list[Exchange]]:
    """The output of the block, and what the server saw of each of its `TIMES` POSTs.

    Its standard input ends once it has printed `until` as often as it POSTs; without `until`, once all POSTs have arrived.
    `more` is set in its environment. With `proxied` the server that counts segments is its HTTP proxy. `delay_acks` delays
    the server's ACKs from the first segment on.
    """
    # JSON, which SDKs parse
    tap = Tap(Script(answers=[Answer(body={"text": "{}"})]), scheme=scheme, delay_acks=delay_acks)
    url = BASE_URL if proxied or PROXY in code else tap.base
    around = around or Around()
    around = Around(around.before, around.post.replace(BASE_URL, url), around.end)
    output, errors = folder / "stdout", folder / "stderr"
    try:
        code = code.replace(PROXY, tap.base).replace(BASE_URL.replace("http:", "https:"), url).replace(BASE_URL, url)
        command = RUNTIMES[language](code, folder, around)
        env = {key: value for key, value in os.environ.items()
               if not key.startswith("ONEWRITE_") and not key.lower().endswith("_proxy")}
        env |= {"PYTHONPATH": str(ROOT / "python" / "src"), **({"http_proxy": tap.base} if proxied else {}), **more}
        with output.open("w") as out, errors.open("w") as err:
            process = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=out, stderr=err)
        try:
            deadline = time.monotonic() + DEADLINE_S
            while process.poll() is None and time.monotonic() < deadline:
                printed = len(re.findall(until, output.read_text())) if until else len(counted(tap))
                if printed >= TIMES:
                    break
                time.sleep(0.05)
            process.communicate(timeout=DEADLINE_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    finally:
        tap.close()
    printed = output.read_text()
    assert process.returncode == 0, errors.read_text()[-2000:] + printed[-2000:]
    posts = counted(tap)
    assert len(posts) == TIMES
    return printed, posts


#: The frontend `stalls` waits for the body of a request.
HAPROXY = """
defaults
    mode http
    timeout connect 10s
    timeout client 30s
    timeout server 30s
frontend waits
    bind fd@${FD_STALLS}
    option http-buffer-request
    default_backend origin
frontend plain
    bind fd@${FD_CURED}
    default_backend origin
backend origin
    server origin 127.0.0.1:${ORIGIN_PORT}
"""


@contextlib.contextmanager
def haproxy_ports(origin: int, folder: Path) -> Iterator[Mapping[str, int]]:
    """The ports of a real HAProxy's frontends before the origin."""
    if not shutil.which("haproxy"):
        pytest.skip("haproxy is not installed")
    configuration = folder / "haproxy.cfg"
    configuration.write_text(HAPROXY)
    with Children(folder) as children:
        yield HAProxy(children, configuration, {"ORIGIN_PORT": str(origin)}).ports
