"""Driver for the judge and the bench: JSON lines on stdin and stdout (driver protocol, version 2)."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
import threading
import traceback
import typing

import bodies
import clients
import exchange
import kinds
import load
import serve

Message = dict[str, typing.Any]

#: "httpx" to drive that instead of urllib3.
SECOND = os.environ.get("ONEWRITE_DRIVER_API")

OUT = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
os.dup2(2, 1)  # a stray print goes to stderr: stdout is protocol only

#: Capabilities of every kind of client; the adapter's own kinds add theirs.
COMMON = [
    "shared_clock", "proxy_forward", "proxy_connect", "socket_options", "custom_connector",
    "concurrency", "retries", "redirects", "load", "serve",
    *(f"body:{kind}" for kind in bodies.KINDS),
]  # fmt: skip


class Driver:
    def __init__(self) -> None:
        self.kind: kinds.Kind | None = None
        self.clients: dict[int, clients.Client] = {}
        self.write_lock = threading.Lock()

    def reply(self, seq: int, **fields: typing.Any) -> None:
        line = json.dumps({"seq": seq, **fields}, separators=(",", ":"))
        with self.write_lock:
            OUT.write(line + "\n")
            OUT.flush()

    def handle(self, message: Message) -> None:
        seq = message.get("seq", 0)
        try:
            fields = getattr(self, "do_" + str(message["cmd"]))(message)
        except kinds.Skipped as why:
            fields = {"skipped": str(why)}
        except AttributeError as error:
            known = hasattr(self, "do_" + str(message.get("cmd")))
            fields = {"crashed": traceback.format_exc()} if known else {"skipped": f"no such command: {error}"}
        except Exception:
            fields = {"crashed": traceback.format_exc()}
        self.reply(seq, **fields)

    def do_hello(self, message: Message) -> Message:
        if message.get("protocol", 2) != 2:
            raise kinds.Skipped("this driver speaks protocol 2")
        self.kind = kinds.load(message["client"])
        capabilities = [*COMMON, *self.kind.capabilities]
        base = {"name": "urllib3", "version": self.kind.base_version}
        apis = list(clients.APIS)
        if SECOND == "httpx":
            capabilities = [name for name in capabilities if name not in clients.HTTPX_MISSING]
            capabilities.append("informational")  # h11 passes over each 1xx, http.client over 100 alone
            base, apis = {"name": "httpx", "version": importlib.metadata.version("httpx")}, ["httpx"]
        return {
            "protocol": 2,
            "client": self.kind.name,
            "adapter": "python",
            "version": self.kind.version,
            "base": base,
            "runtime": f"{platform.python_implementation()} {platform.python_version()}",
            "pid": os.getpid(),
            "apis": apis,
            "capabilities": capabilities,
        }

    def do_open(self, message: Message) -> Message:
        if self.kind is None:
            raise kinds.Skipped("say hello first")
        try:
            options = message.get("options") or {}
            client = clients.open_client(self.kind, {"api": SECOND, **options} if SECOND else options)
        except (TypeError, ValueError) as error:
            if not (message.get("options") or {}).get("adapter"):
                raise
            what = {"kind": "other", "type": type(error).__name__, "message": str(error)}
            return {"outcome": "error", "error": what}
        client_id = len(self.clients) + 1
        self.clients[client_id] = client
        return {"client_id": client_id}

    def do_close(self, message: Message) -> Message:
        self.clients[message["client_id"]].close()
        return {"ok": True}

    def do_request(self, message: Message) -> Message:
        return exchange.run(self.clients[message["client_id"]], message)

    def do_batch(self, message: Message) -> Message:
        requests = [{**r, "client_id": r.get("client_id", message["client_id"])} for r in message["requests"]]
        results: list[Message] = [{} for _ in requests]
        start = threading.Barrier(len(requests))

        def one(index: int) -> None:
            try:
                client = self.clients[requests[index]["client_id"]]
                results[index] = exchange.run(client, requests[index], start)
            except kinds.Skipped as why:
                results[index] = {"skipped": str(why)}
            except Exception:
                results[index] = {"crashed": traceback.format_exc()}
            if "seq" in requests[index]:
                results[index]["seq"] = requests[index]["seq"]

        threads = [threading.Thread(target=one, args=(index,), daemon=True) for index in range(len(requests))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"results": results}

    def do_load(self, message: Message) -> Message:
        return load.run(self.clients[message["client_id"]], message)

    def do_serve(self, message: Message) -> Message:
        return {"port": serve.start(self.clients[message["client_id"]], message)}


def main() -> None:
    driver = Driver()
    for line in sys.stdin:
        if not line.strip():
            continue
        message = json.loads(line)
        if message.get("cmd") == "bye":
            driver.reply(message.get("seq", 0), ok=True)
            break
        if message.get("cmd") in ("hello", "open", "close"):
            driver.handle(message)  # later commands depend on these: they are done before the next line is read
        else:
            threading.Thread(target=driver.handle, args=(message,), daemon=True).start()
    OUT.flush()
    os._exit(0)  # a request under way must not keep the process


if __name__ == "__main__":
    main()
