"""200-byte POSTs to a local server: bare Netty (stock) and onewrite in turn, one caller, five rounds each."""

import json
import pathlib
import socket
import statistics
import subprocess
import threading

RUN = pathlib.Path(__file__).parent / "driver" / "run"
ROUNDS, COUNT = 5, 2000


class Driver:
    def __init__(self, client: str) -> None:
        self.process = subprocess.Popen([RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.seq = 0
        self.ask(cmd="hello", protocol=1, client=client)
        self.client = self.ask(cmd="open", options={"api": "netty"})["client_id"]

    def ask(self, **message: object) -> dict:
        self.seq += 1
        self.process.stdin.write((json.dumps({**message, "seq": self.seq}) + "\n").encode())
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def load(self, url: str) -> list[int]:
        body = {"kind": "bytes", "size": 200}
        return self.ask(cmd="load", client_id=self.client, url=url, body=body, count=COUNT, warmup=200)["latencies_us"]


def serve(listener: socket.socket) -> None:
    def answer(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pending = b""
        while data := connection.recv(65536):
            pending += data
            while (end := pending.find(b"\r\n\r\n")) >= 0 and len(pending) >= end + 204:
                pending = pending[end + 204 :]
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


with socket.create_server(("127.0.0.1", 0)) as listener:
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    drivers = {name: Driver(name) for name in ("stock", "onewrite")}
    medians: dict[str, list[float]] = {name: [] for name in drivers}
    for _ in range(ROUNDS):
        for name, driver in drivers.items():
            medians[name].append(statistics.median(driver.load(url)))
    for name, values in medians.items():
        print(f"{name:9} p50 {min(values):6.0f} us in the best of {ROUNDS} rounds of {COUNT}; rounds {values}")
    for driver in drivers.values():
        driver.ask(cmd="bye")
