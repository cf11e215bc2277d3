"""The four client kinds. Only the adapter's own two import it; stock is really stock."""

from __future__ import annotations

import sys
import typing

import urllib3


class Skipped(Exception):  # noqa: N818 - an answer of the protocol, no error
    """The driver cannot do what is asked; the text says why."""


class Kind:
    """Stock: urllib3 and requests as people use them."""

    name = "stock"
    version = "0.1.0"
    capabilities: tuple[str, ...] = ()
    hooks: typing.ClassVar[bool] = False

    base_version: str = getattr(urllib3, "__version__", "unknown")

    def manager(self, proxy: str | None, keywords: dict[str, typing.Any], own: dict[str, typing.Any]) -> typing.Any:
        if proxy:
            return urllib3.ProxyManager(proxy, **keywords)
        return urllib3.PoolManager(**keywords)

    def adapter_class(self) -> typing.Any:
        import requests.adapters

        return requests.adapters.HTTPAdapter

    def adapter_keywords(self, own: dict[str, typing.Any]) -> dict[str, typing.Any]:
        return {}

    def transport(self, keywords: dict[str, typing.Any], own: dict[str, typing.Any]) -> typing.Any:
        import httpx

        return httpx.HTTPTransport(**keywords)

    def prepare(self, own: dict[str, typing.Any]) -> None:
        """Apply process-wide settings before a client is made."""
        unknown = {key for key in own if key != "on_timing"}
        if unknown:
            raise Skipped(f"{self.name} has no adapter options: {sorted(unknown)}")


class Control(Kind):
    """urllib3 with Nagle on: head and body in two writes, as it makes them."""

    name = "control"

    def manager(self, proxy: str | None, keywords: dict[str, typing.Any], own: dict[str, typing.Any]) -> typing.Any:
        return super().manager(proxy, {"socket_options": [], **keywords}, own)


class _Adapter(Kind):
    hooks = True

    def __init__(self) -> None:
        import onewrite

        self.version = onewrite.__version__
        self.capabilities = ("timing", "dns_split", "queue", "resend", "writes", "gather")
        if sys.platform == "linux":
            self.capabilities += ("tcp_info", "rwnd_limited")

    def prepare(self, own: dict[str, typing.Any]) -> None:
        pass


class Onewrite(_Adapter):
    name = "onewrite"

    def manager(self, proxy: str | None, keywords: dict[str, typing.Any], own: dict[str, typing.Any]) -> typing.Any:
        import onewrite

        if proxy:
            return onewrite.ProxyManager(proxy, **keywords, **own)
        return onewrite.PoolManager(**keywords, **own)

    def adapter_class(self) -> typing.Any:
        import onewrite.requests

        return onewrite.requests.Adapter

    def adapter_keywords(self, own: dict[str, typing.Any]) -> dict[str, typing.Any]:
        return own

    def transport(self, keywords: dict[str, typing.Any], own: dict[str, typing.Any]) -> typing.Any:
        """For httpx there is install() alone; one client is open at a time."""
        import onewrite.httpx

        if set(own) - {"on_timing"}:
            raise Skipped("httpx is only timed")
        onewrite.httpx.uninstall()  # of the client before
        onewrite.httpx.install(own.get("on_timing"))
        return super().transport(keywords, own)


class Patched(_Adapter):
    name = "patched"

    def __init__(self) -> None:
        super().__init__()
        self.capabilities += ("install",)

    def prepare(self, own: dict[str, typing.Any]) -> None:
        import onewrite

        onewrite.uninstall()  # of the client before
        onewrite.install(**own)


KINDS: dict[str, type[Kind]] = {"onewrite": Onewrite, "patched": Patched, "stock": Kind, "control": Control}


def load(name: str) -> Kind:
    if name not in KINDS:
        raise Skipped(f"no client kind {name!r}")
    return KINDS[name]()
