"""An HTTP server with every fault there is, to be run as the command of `check`.

usage: server.py FAULTS PORT      FAULTS: split nagle close slow large workers, joined by commas; or none
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

faults = set(sys.argv[1].split(","))
body = b"x" * (100_000 if "large" in faults else 200)
status = b"404 Not Found" if "missing" in faults else b"200 OK"
head = b"HTTP/1.1 " + status + b"\r\nServer: faulty/1\r\nContent-Length: %d\r\n" % len(body)
head += b"Connection: close\r\n\r\n" if "close" in faults else b"\r\n"


def serve(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, "nagle" not in faults)
    with sock:
        while sock.recv(65536):
            if "split" in faults or "slow" in faults:
                sock.sendall(head)
                time.sleep(0.1 if "slow" in faults else 0)
                sock.sendall(body)
            else:
                sock.sendall(head + body)
            if "close" in faults:
                return


listener = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=64)
print(listener.getsockname()[1], flush=True)
if "workers" in faults and os.fork() == 0:
    faults.add("nagle")  # of two workers one loses the option
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
