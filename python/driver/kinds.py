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

    def api(self, what: str) -> dict[str, typing.Any]:
        """Put in, take out, or remove the hook that was set first; return the state of the process."""
        raise Skipped(f"{self.name} is not installed for the process")

    def prepare(self, own: dict[str, typing.Any], added: bool = False) -> None:
        """Apply process-wide settings before a client is made; *added*: each hook by a separate call."""
        unknown = {key for key in own if key not in ("on_timing", "listener")}
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
        self.capabilities = (
            "timing", "events", "dns_split", "queue", "attempts", "checked_options"
        )  # fmt: skip
        if sys.platform == "linux":
            self.capabilities += ("tcp_info", "rwnd_limited", "quickack")

    def prepare(self, own: dict[str, typing.Any], added: bool = False) -> None:
        if added:
            raise Skipped("both hooks are given to the client's constructor")


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
        import onewrite.httpx

        return onewrite.httpx.Transport(**keywords, **own)


class Patched(_Adapter):
    name = "patched"

    def __init__(self) -> None:
        super().__init__()
        import onewrite

        self.capabilities += ("install", "status")
        self._first = onewrite.install()

    def prepare(self, own: dict[str, typing.Any], added: bool = False) -> None:
        import onewrite

        onewrite.uninstall()  # of the client before
        self._first = onewrite.install(listener=own.pop("listener", None) if added else None)
        onewrite.install(**own)

    def api(self, what: str) -> dict[str, typing.Any]:
        import onewrite

        calls: dict[str, typing.Callable[[], object]] = {
            "install": onewrite.install,
            "uninstall": onewrite.uninstall,
            "remove": self._first.remove,
        }
        if what in calls:
            calls[what]()
        status = onewrite.status()
        return {"in_force": status.enabled, "hooks": bool(status.hooks), "hook_errors": status.hook_errors}


KINDS: dict[str, type[Kind]] = {"onewrite": Onewrite, "patched": Patched, "stock": Kind, "control": Control}


def load(name: str) -> Kind:
    if name not in KINDS:
        raise Skipped(f"no client kind {name!r}")
    return KINDS[name]()
