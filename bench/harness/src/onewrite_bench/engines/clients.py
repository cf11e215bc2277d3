"""Starts language drivers as clients of a group, and ends them all when the run ends."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence

from onewrite_conformance.driver import Driver, DriverFault, DriverSkipped

from onewrite_bench.ends import tied
from onewrite_bench.engines import drivers
from onewrite_bench.scenario import Client, Group
from onewrite_bench.topology.places import Places
from onewrite_bench.verdict.results import Cell, RateResult

__all__ = ["Clients", "first_line", "mark"]

# The user's proxy and certificate variables must not lead a client away from the topology.
_PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_NEUTRAL_ENV = dict.fromkeys((*_PROXY_VARIABLES, "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), "")


class Clients:
    """The driver processes of one run. `stop` ends them at once, from any thread."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._stopping = threading.Event()
        self._drivers: list[Driver] = []
        self._lock = threading.Lock()

    def start(self, group: Group, client: Client, cells: Sequence[Cell | RateResult]) -> Driver | None:
        """A driver of this group's language for this client, or None: then the cells say why."""
        language = client.language or group.language
        command = drivers.command(language, client.competitor, client.checkout)
        if command is None:
            why = (
                "competitors are not set up: make -C bench competitors"
                if client.competitor
                else f"no {language}/driver/run"
            )
            mark(cells, "skipped", why)
            return None
        old = None if client.competitor or language == "raw" else drivers.stale(language, client.checkout)
        if old is not None:
            mark(cells, "skipped", old)
            return None
        env = {**_NEUTRAL_ENV, **client.env}
        if client.proxy == "environment":
            url = self._places.proxy_url
            env |= {
                "http_proxy": url,
                "HTTP_PROXY": url,
                "https_proxy": url,
                "HTTPS_PROXY": url,
                "no_proxy": "",
                "NO_PROXY": "",
            }
        try:
            driver = Driver([*tied(), *self._places.client_command, *command], client.kind, env)
        except DriverSkipped as skip:
            mark(cells, "skipped", str(skip))
            return None
        except DriverFault as fault:
            mark(cells, "failed", first_line(fault))
            return None
        with self._lock:
            self._drivers.append(driver)
        if "load" not in driver.capabilities:
            mark(cells, "skipped", f"this driver cannot run loads as {client.kind}")
            return None
        if client.api is not None and client.api not in driver.hello.get("apis", []):
            mark(cells, "skipped", f"this driver has no api {client.api}")
            return None
        base = driver.hello["base"]
        for cell in cells:
            cell.base = f"{base['name']} {base['version']}, {driver.hello['runtime']}"
        return driver

    def finish(self, driver: Driver) -> None:
        """End a driver that `start` gave."""
        driver.end() if self._stopping.is_set() else driver.bye()
        with self._lock:
            self._drivers = [other for other in self._drivers if other is not driver]

    def stop(self) -> None:
        self._stopping.set()
        with self._lock:
            for driver in self._drivers:
                driver.end()
            self._drivers.clear()


def mark(cells: Iterable[Cell | RateResult], field: str, why: str) -> None:
    for cell in cells:
        setattr(cell, field, why)


def first_line(fault: DriverFault) -> str:
    """A fault in one line: of a trace, the line that names the error."""
    lines = [line.strip() for line in fault.detail.splitlines() if line.strip()] or [""]
    named = [line for line in lines if "Error" in line or "Exception" in line]
    text = f"driver {fault.kind}: {(named or lines)[0]}"
    log = fault.log.strip().splitlines()
    return f"{text} ({log[-1].strip()})" if log and fault.kind != "crashed" else text
