"""Fixtures of all tests: a certificate authority, taps that are closed, install() that is undone."""

from __future__ import annotations

import gc
import os
import pathlib
import ssl
import sys
import typing

import pytest
import trustme
import urllib3

sys.path.insert(0, str(pathlib.Path(__file__).parent))
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(pathlib.Path(__file__).parents[1] / "build" / "hypothesis"))
# eventlet's own DNS imports dnspython's DoH, and that httpcore2 and trio, which know nothing of eventlet's sockets.
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")

import onewrite
import onewrite.httpx
from tap import Answer, Tap, ok


class Authority:
    def __init__(self, folder: pathlib.Path) -> None:
        ca = trustme.CA()
        self.pem = str(folder / "ca.pem")
        ca.cert_pem.write_to_path(self.pem)
        self._certificate = ca.issue_cert("127.0.0.1", "localhost")
        self.context = self.server_context()

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._certificate.configure_cert(context)
        return context


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def tap(authority: Authority) -> typing.Iterator[typing.Callable[..., Tap]]:
    made: list[Tap] = []

    def make(answer: Answer = ok, tls: bool = False, proxy: bool = False, host: str = "127.0.0.1") -> Tap:
        made.append(Tap(answer, authority.context if tls else None, proxy, host))
        return made[-1]

    yield make
    for one in made:
        one.close()
    assert not [error for one in made for error in one.errors]


@pytest.fixture(scope="module", autouse=True)
def frozen() -> None:
    """A collection visits what this module's tests have made, not all that was imported before."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # hypothesis looks for what refers to an object


@pytest.fixture(autouse=True)
def uninstalled() -> typing.Iterator[None]:
    """A test begins with nothing installed. What it has installed is undone after it."""
    yield
    patches = sys.modules.get("onewrite._patches")
    if patches is not None:
        patches._kept.clear()  # what own managers need stays in a program
    onewrite.uninstall()
    onewrite.httpx.uninstall()


@pytest.fixture
def recorded() -> list[onewrite.Record]:
    """install() with a hook: what it has recorded."""
    records: list[onewrite.Record] = []
    onewrite.install(on_timing=records.append)
    return records


@pytest.fixture(params=[pytest.param("own", marks=pytest.mark.nightly), "installed"])
def library(request: pytest.FixtureRequest) -> typing.Any:
    """onewrite's names, or urllib3's under install()."""
    if request.param == "own":
        return onewrite
    onewrite.install()
    return urllib3
