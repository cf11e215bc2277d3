"""Clients of httpx and httpx2: blocking, asyncio and trio; stock, with onewrite's transport, under install()."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import ssl
import typing

Call = tuple[str, str, dict[str, typing.Any]]

LIBRARIES = ("httpx", "httpx2")
RUNTIMES = ("blocking", "asyncio", "trio")
WAYS = ("own", "installed")


class Clients:
    """Makes clients of one library, for one runtime, in one way ("stock" among them)."""

    def __init__(self, library: str, runtime: str, way: str) -> None:
        self.httpx = importlib.import_module(library)
        self.core = importlib.import_module(library.replace("httpx", "httpcore"))
        self.ours = importlib.import_module(f"onewrite.{library}")
        self.runtime = runtime
        self.way = way

    @property
    def blocking(self) -> bool:
        return self.runtime == "blocking"

    @contextlib.contextmanager
    def installed(self, **hooks: typing.Any) -> typing.Iterator[None]:
        """install() for the length of the test, where that is the way."""
        if self.way != "installed":
            yield
            return
        self.ours.install(**hooks)
        try:
            yield
        finally:
            self.ours.uninstall()

    def transport(self, hooks: dict[str, typing.Any] | None = None, **keywords: typing.Any) -> typing.Any:
        if self.way == "own":
            made = self.ours.Transport if self.blocking else self.ours.AsyncTransport
            return made(**keywords, **(hooks or {}))
        return (self.httpx.HTTPTransport if self.blocking else self.httpx.AsyncHTTPTransport)(**keywords)

    def run(
        self,
        calls: typing.Sequence[Call] | typing.Callable[[typing.Any], typing.Any],
        ca: ssl.SSLContext | bool = True,
        hooks: dict[str, typing.Any] | None = None,
        transport: dict[str, typing.Any] | None = None,
        **client: typing.Any,
    ) -> typing.Any:
        """Make *calls* on one client and return the answers; or hand it to a function, and return what that does.

        What a function for the asynchronous runtimes gives back is awaited.
        """
        keywords = {"verify": ca, "trust_env": False, **(transport or {})}
        client = {"trust_env": False, **client}
        with self.installed(**(hooks or {})):
            if self.blocking:
                with self.httpx.Client(transport=self.transport(hooks, **keywords), **client) as http:
                    if callable(calls):
                        return calls(http)
                    return [http.request(method, url, **fresh(more)) for method, url, more in calls]

            async def main() -> typing.Any:
                async with self.httpx.AsyncClient(transport=self.transport(hooks, **keywords), **client) as http:
                    if callable(calls):
                        result = calls(http)
                        return await result if inspect.isawaitable(result) else result
                    return [await http.request(method, url, **fresh(more)) for method, url, more in calls]

            import anyio  # not in every environment of these tests

            return anyio.run(main, backend=self.runtime)


def fresh(keywords: dict[str, typing.Any]) -> dict[str, typing.Any]:
    """*keywords* for one request: what is callable makes its value anew."""
    return {name: value() if callable(value) else value for name, value in keywords.items()}
