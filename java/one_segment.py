"""Runs a command that POSTs once to ONEWRITE_EXAMPLE_URL; exit 0 when the POST arrived in one TCP segment (Linux)."""

import os
import socket
import struct
import subprocess
import sys
import threading

DATA_SEGS_IN = 152
seen = []


def serve(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    request = b""
    while b"\r\n\r\n" not in request or not request.endswith((b"hello", b"\r\n0\r\n\r\n")):
        request += connection.recv(65536)
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    seen.append(struct.unpack_from("I", info, DATA_SEGS_IN)[0])
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    connection.recv(1)


with socket.create_server(("127.0.0.1", 0)) as listener:
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    done = subprocess.run(sys.argv[1:], env={**os.environ, "ONEWRITE_EXAMPLE_URL": url}, timeout=600)

print(f"segments of the POST: {seen}")
sys.exit(0 if done.returncode == 0 and seen == [1] else 1)
