"""Starts the processes of a group's clients, and ends them all when the run ends."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped

from onewrite_bench.ends import tied
from onewrite_bench.engines import drivers
from onewrite_bench.scenario import Client, Group
from onewrite_bench.topology.servers import Servers
from onewrite_bench.verdict.results import Cell

__all__ = ["FAULT", "Clients", "first_line", "mark"]

FAULT = "driver "
"""The beginning of the reason why a driver that started has no result."""

# The user's proxy and certificate variables must not apply to a client.
_PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY")
_NEUTRAL_ENV = dict.fromkeys((*_PROXIES, "all_proxy", "ALL_PROXY", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), "")


class Clients:
    """The driver processes of one run. `stop` ends them at once, from any thread."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._stopping = threading.Event()
        self._drivers: list[Driver] = []
        self._lock = threading.Lock()

    def start(self, group: Group, client: Client, cells: Sequence[Cell]) -> Driver | None:
        """Start the driver process of this client. Returns None where it cannot; the cells then have the reason."""
        driver, why = self._start("raw" if client.kind == "socket" else group.language, client, group.runtime)
        if driver is not None:
            with self._lock:
                self._drivers.append(driver)
            if "load" not in driver.capabilities:
                why = f"this driver cannot run loads as {client.kind}"
            elif client.api is not None and client.api not in driver.hello.get("apis", []):
                why = f"this driver has no api {client.api}"
        if driver is None or why is not None:
            mark(cells, why)
            return None
        base = driver.hello["base"]
        for cell in cells:
            cell.base = f"{base['name']} {base['version']}, {driver.hello['runtime']}"
        return driver

    def _start(self, language: str, client: Client, runtime: str | None) -> tuple[Driver | None, str | None]:
        command = drivers.command(language, client.program, runtime)
        if command is None:
            return None, f"no {language}/driver/run"
        old = None if language == "raw" or client.program else drivers.stale(language)
        if old is not None:
            return None, old
        env = {**_NEUTRAL_ENV, **drivers.environment(runtime), **client.env}
        if client.program is not None:
            env |= dict.fromkeys(("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), self._servers.certificate_authority)
        if client.proxy == "environment":
            env |= {**dict.fromkeys(_PROXIES, self._servers.proxy_url), "no_proxy": "", "NO_PROXY": ""}
        kind = "stock" if client.kind == "socket" else client.kind
        try:
            return Driver([*tied(), *self._servers.client_command, *command], kind, env), None
        except DriverSkipped as skip:
            return None, str(skip)
        except DriverFault as fault:
            return None, first_line(fault)

    def finish(self, driver: Driver) -> None:
        """End a driver."""
        driver.end() if self._stopping.is_set() else driver.bye()
        with self._lock:
            self._drivers = [other for other in self._drivers if other is not driver]

    def stop(self) -> None:
        self._stopping.set()
        with self._lock:
            for driver in self._drivers:
                driver.end()
            self._drivers.clear()


def mark(cells: Iterable[Cell], why: str | None) -> None:
    """Set the reason why these cells were not measured."""
    for cell in cells:
        cell.missing = why


def first_line(fault: DriverFault) -> str:
    """A fault in one line; for a trace, the line that names the error."""
    lines = [line.strip() for line in fault.detail.splitlines() if line.strip()] or [""]
    named = [line for line in lines if "Error" in line or "Exception" in line]
    text = f"{FAULT}{fault.kind}: {(named or lines)[0]}"
    log = fault.log.strip().splitlines()
    return f"{text} ({log[-1].strip()})" if log and fault.kind != "crashed" else text
