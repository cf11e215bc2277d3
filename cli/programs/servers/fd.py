"""uvicorn on a socket that it is given by its descriptor, as a supervisor or systemd does."""

from __future__ import annotations

import socket
import sys

import uvicorn
from app import asgi

with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listener:
    listener.set_inheritable(True)
    uvicorn.run(asgi, fd=listener.fileno(), log_level="warning")
