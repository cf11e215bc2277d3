"""A wide-area network in one machine: two network namespaces and a relay that delays every packet between them.

Needs Linux, CAP_NET_ADMIN (root) and /dev/net/tun; changes nothing outside its namespaces, which have no name and
are gone with the processes that hold them. The kernel's own TCP runs on both sides: acknowledgements, Nagle and
segment sizes (1448 bytes) are real, only the distance is made.

`--peer-delack-ms` EMULATES a peer with another delayed-ACK timer than Linux's 40 ms: a pure acknowledgement from the
far side is held for so long. It goes on at once if it
acknowledges two full segments, or if a data segment carries it.

Prints one JSON line when it is ready: the two processes whose namespaces they are (for nsenter --net=/proc/PID/ns/net)
and their addresses. Ends when its standard input ends.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import heapq
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001
PR_SET_PDEATHSIG, SIGKILL = 1, 9
NEAR, FAR = "10.77.0.1", "10.77.0.2"
MSS = 1448

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        sys.exit(f"{what}: {os.strerror(code)}")


def namespace(address: str, peer: str) -> tuple[int, int]:
    """A process in a new network namespace with a TUN device; returns its pid and the device's descriptor."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    pid = os.fork()
    if pid == 0:
        mine.close()
        libc.prctl(PR_SET_PDEATHSIG, SIGKILL)
        check(libc.unshare(CLONE_NEWNET), "unshare(CLONE_NEWNET)")
        device = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH14s", b"wan0", IFF_TUN_NO_PI, b""))
        for command in (
            ["link", "set", "lo", "up"],
            ["addr", "add", address, "peer", peer, "dev", "wan0"],
            ["link", "set", "wan0", "up"],
        ):
            subprocess.run(["ip", *command], check=True)
        socket.send_fds(theirs, [b"x"], [device])
        theirs.recv(1)  # until the parent is gone
        os._exit(0)
    theirs.close()
    _, descriptors, _, _ = socket.recv_fds(mine, 1, 1)
    if not descriptors:
        sys.exit("a namespace could not be made; see the lines above")
    KEPT.append(mine)
    return pid, descriptors[0]


KEPT: list[socket.socket] = []


class Direction:
    """Packets from one device to the other, each `delay_s` after it came."""

    def __init__(self, source: int, sink: int, delay_s: float, ack_hold_s: float) -> None:
        self._source, self._sink = source, sink
        self._delay_s, self._ack_hold_s = delay_s, ack_hold_s
        self._due: list[tuple[float, int, bytes, tuple[int, int] | None]] = []
        self._number = 0
        self._acknowledged: dict[tuple[int, int], int] = {}
        self._held: dict[tuple[int, int], int] = {}
        self._wake = threading.Condition()

    def start(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._write, daemon=True).start()

    def _read(self) -> None:
        while True:
            packet = os.read(self._source, 65536)
            due = time.monotonic() + self._delay_s
            with self._wake:
                flow = self._hold(packet) if self._ack_hold_s else None
                self._number += 1
                if flow is not None:
                    self._held[flow] = self._number
                    due += self._ack_hold_s
                heapq.heappush(self._due, (due, self._number, packet, flow))
                self._wake.notify()

    def _hold(self, packet: bytes) -> tuple[int, int] | None:
        """The flow of a pure acknowledgement that waits; any other packet of the flow supersedes it."""
        if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != 6:
            return None
        start = (packet[0] & 15) * 4
        ports: tuple[int, int] = struct.unpack_from("!HH", packet, start)
        acknowledged: int = struct.unpack_from("!I", packet, start + 8)[0]
        header, flags = (packet[start + 12] >> 4) * 4, packet[start + 13]
        payload = struct.unpack_from("!H", packet, 2)[0] - start - header
        self._held.pop(ports, None)
        newly = (acknowledged - self._acknowledged.get(ports, acknowledged)) & 0xFFFFFFFF
        if payload == 0 and flags == 0x10 and ports in self._acknowledged and 0 < newly < 2 * MSS:
            return ports
        self._acknowledged[ports] = acknowledged
        return None

    def _write(self) -> None:
        while True:
            with self._wake:
                while not self._due or self._due[0][0] > time.monotonic():
                    self._wake.wait(self._due[0][0] - time.monotonic() if self._due else None)
                _, number, packet, flow = heapq.heappop(self._due)
                if flow is not None:
                    if self._held.get(flow) != number:
                        continue  # a later packet carried this acknowledgement
                    del self._held[flow]
            os.write(self._sink, packet)


def main() -> None:
    parser = argparse.ArgumentParser(description="Two network namespaces with a delay between them.")
    parser.add_argument("--rtt-ms", type=float, default=160)
    parser.add_argument("--peer-delack-ms", type=float, default=0, help="emulate the far side's delayed-ACK timer")
    options = parser.parse_args()
    near, near_device = namespace(NEAR, FAR)
    far, far_device = namespace(FAR, NEAR)
    one_way_s = options.rtt_ms / 2000
    Direction(near_device, far_device, one_way_s, 0).start()
    Direction(far_device, near_device, one_way_s, options.peer_delack_ms / 1000).start()
    ready = {"ready": True, "near": near, "far": far, "near_address": NEAR, "far_address": FAR}
    print(json.dumps(ready), flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
