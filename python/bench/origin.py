"""The server of the bench: answers each request with two bytes, in one write. With ``--tls FILE`` over TLS.

It prints its port. FILE gets the certificate of its authority.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
import threading

ANSWER = (
    b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
)


def complete(data: bytes) -> int:
    """Length of the first request in *data*; 0 if it is incomplete."""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end:
        return 0
    lines = head.lower()
    if b"chunked" in lines:
        last = rest.find(b"0\r\n\r\n")
        return len(head) + 4 + last + 5 if last >= 0 else 0
    at = lines.find(b"content-length:")
    size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
    return len(head) + 4 + size if len(rest) >= size else 0


def context_for(authority: str) -> ssl.SSLContext:
    """Make a certificate for localhost, and write that of its authority to a file."""
    import trustme

    made = trustme.CA()
    made.cert_pem.write_to_path(authority)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.issue_cert("127.0.0.1").configure_cert(context)
    return context


def serve(sock: socket.socket, context: ssl.SSLContext | None) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    if context is not None:
        sock = context.wrap_socket(sock, server_side=True)
    with sock, contextlib.suppress(ConnectionResetError):  # some clients leave without a word
        while received := sock.recv(65536):
            data += received
            while length := complete(data):
                data = data[length:]
                sock.sendall(ANSWER)


def main() -> None:
    context = context_for(sys.argv[2]) if sys.argv[1:2] == ["--tls"] else None
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], context), daemon=True).start()


if __name__ == "__main__":
    main()
