"""A client that verifies accepts a good certificate, by name and by both loopback addresses."""

from __future__ import annotations

import http.client
import ssl
from pathlib import Path

import pytest

from onewrite_lab import certificates
from onewrite_lab.tap import Tap


def test_a_strict_client_accepts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "_shared", [])
    made = certificates.shared(tmp_path)
    context = ssl.create_default_context(cafile=made.ca_file)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with Tap(scheme="https") as tap:
        for host in ("127.0.0.1", "localhost"):
            connection = http.client.HTTPSConnection(host, tap.port, context=context, timeout=10)
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"ok"
            connection.close()
    assert "BEGIN PRIVATE KEY" in Path(made.server_file()).read_text()


def test_without_openssl_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="openssl program"):
        certificates.Certificates(tmp_path)
