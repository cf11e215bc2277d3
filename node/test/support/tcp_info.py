"""Answers how many data segments the kernel has received on a TCP connection of 127.0.0.1 (TCP_INFO, tcpi_data_segs_in).

usage: tcp_info.py FOLDER
It makes two pipes in FOLDER and returns; a process of its own goes on answering until `ask` is closed. Each line of `ask`
is `LOCAL-PORT REMOTE-PORT`, each line of `answer` the count, 0 for a connection that is gone. The kernel is asked by
sock_diag, as `ss` does, which would be a process for each request of each test.
"""

import os
import signal
import socket
import struct
import sys
from pathlib import Path

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLM_F_REQUEST = 1
#: struct nlmsghdr; struct inet_diag_req_v2 without its ports and addresses; struct inet_diag_msg as far as the attributes.
HEADER = struct.Struct("=IHHII")
REQUEST = struct.Struct("=BBBxI")
MESSAGE_SIZE = 72
ATTRIBUTE = struct.Struct("=HH")
INET_DIAG_INFO = 2
ANY_STATE = 0xFFFFFFFF
LOOPBACK = socket.inet_aton("127.0.0.1").ljust(16, b"\0")
NO_COOKIE = b"\xff" * 8
DATA_SEGS_IN = 152


def data_segments_in(netlink: socket.socket, local: int, remote: int) -> int:
    connection = struct.pack("!HH", local, remote) + LOOPBACK + LOOPBACK + struct.pack("=I", 0) + NO_COOKIE
    request = REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), ANY_STATE) + connection
    netlink.send(HEADER.pack(HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0) + request)
    answer = netlink.recv(65536)
    size, kind = HEADER.unpack_from(answer)[:2]
    at = HEADER.size + MESSAGE_SIZE
    while kind == SOCK_DIAG_BY_FAMILY and at < size:
        length, attribute = ATTRIBUTE.unpack_from(answer, at)
        if attribute == INET_DIAG_INFO:
            return int(struct.unpack_from("=I", answer, at + ATTRIBUTE.size + DATA_SEGS_IN)[0])
        at += (length + 3) & ~3
    return 0


def main(folder: str) -> None:
    ask, answer = Path(folder) / "ask", Path(folder) / "answer"
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
    netlink.connect((0, 0))
    os.mkfifo(ask)
    os.mkfifo(answer)
    if os.fork():
        return
    # Opening waits for the other end, which may have been killed.
    signal.alarm(60)
    with ask.open() as questions, answer.open("w") as answers:
        signal.alarm(0)
        for line in questions:
            local, remote = map(int, line.split())
            print(data_segments_in(netlink, local, remote), file=answers, flush=True)


main(sys.argv[1])
