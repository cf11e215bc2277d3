"""One small answer, for every Python server: `asgi`, `wsgi`, and programs of their own by name."""

from __future__ import annotations

import sys
from typing import Any

BODY = b"x" * 200
HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"200")]


async def asgi(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


def wsgi(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    start_response("200 OK", [(name.decode(), value.decode()) for name, value in HEADERS])
    return [BODY]


def run_aiohttp(port: int) -> None:
    from aiohttp import web

    async def answer(request: Any) -> Any:
        return web.Response(body=BODY)

    app = web.Application()
    app.router.add_get("/", answer)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


def run_tornado(port: int) -> None:
    import asyncio

    from tornado.web import Application, RequestHandler

    class Answer(RequestHandler):
        def get(self) -> None:
            self.write(BODY)

    async def main() -> None:
        Application([("/", Answer)]).listen(port, "127.0.0.1")
        await asyncio.Event().wait()

    asyncio.run(main())


def run_waitress(port: int) -> None:
    from waitress import serve

    serve(wsgi, host="127.0.0.1", port=port)


def run_cheroot(port: int) -> None:
    from cheroot.wsgi import Server

    Server(("127.0.0.1", port), wsgi).safe_start()


def run_wsgiref(port: int) -> None:
    from wsgiref.simple_server import make_server

    make_server("127.0.0.1", port, wsgi).serve_forever()


if __name__ == "__main__":
    globals()[f"run_{sys.argv[1]}"](int(sys.argv[2]))
