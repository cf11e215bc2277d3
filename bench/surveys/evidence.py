"""Produces the outputs that docs/finding-a-stall.md shows: runs its commands against a patient behind HAProxy.

usage: evidence.py [--no-page]      exit: 0 all shown, 2 the patient did not stall, 3 a program is missing
A command that needs a privilege or a program that this machine lacks is left out, and the page keeps its last output.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from onewrite_bench.topology.children import installed

from clients import python_command
from frontends import HAPROXY
from page import fill
from page import run as run_main
from servers import HERE, ROOT, Missing, Servers

PAGE = ROOT / "docs" / "finding-a-stall.md"
PATIENT = HERE / "patient.py"


def run(command: list[str], *, env: dict[str, str] | None = None, timeout: float = 60) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env, check=False)
    if done.returncode:
        raise Missing(f"{command[0]} exited with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def patient(port: int, *arguments: str) -> list[str]:
    return [sys.executable, str(PATIENT), f"http://127.0.0.1:{port}/", *arguments]


def shown(command: str, output: str) -> str:
    lines = "\n".join(line.rstrip() for line in output.rstrip().splitlines())
    return f"```console\n$ {command}\n{lines}\n```"


def symptom(port: int, origin: int) -> str:
    lines = []
    for name, at, arguments in (
        ("URL", port, ()), ("URL", port, ("--method", "GET")), ("URL", port, ("--size", "100000")),
        ("URL", port, ("--nodelay",)), ("ORIGIN", origin, ()), ("ORIGIN", origin, ("--fresh",)), ("URL", port, ("--fresh",)),
    ):
        command = " ".join([f"python3 bench/surveys/patient.py ${name}", *arguments])
        lines.append(f"$ {command}\n{run(patient(at, *arguments)).rstrip()}")
    curl = [installed("curl"), "-s", "-o", "/dev/null", "--data", "x" * 200, "-w", "%{time_total}\n", f"http://127.0.0.1:{port}/?[1-41]"]
    median = sorted(run(curl).split())[20]
    lines.append("$ curl -s -o /dev/null --data \"$(printf %200s)\" -w '%{time_total}\\n' \"$URL?[1-41]\" | sort | sed -n 21p")
    lines.append(median)
    return "```console\n" + "\n".join(lines) + "\n```"


def sockets(port: int) -> str:
    """One line of ss, caught while the body is held."""
    command = ["-tinH", "dst", "127.0.0.1", "and", "dport", "=", f":{port}"]
    looked = held = 0
    found = ""
    with subprocess.Popen(patient(port, "--seconds", "6"), stdout=subprocess.DEVNULL) as process:
        time.sleep(1.5)
        while process.poll() is None:
            out = run([installed("ss", "iproute2"), *command])
            if "notsent" in out or "bytes_sent" in out:
                looked += 1
            if re.search(r"\bnotsent:\d", out) and re.search(r"\bunacked:1\b", out):
                held += 1
                # The picture to show is one from the middle of the wait; in its first ms ss leaves `lastsnd` out.
                since = re.search(r"\blastsnd:(\d+)", out)
                if not found or (since and 12 <= int(since[1]) <= 40 and "lastsnd" not in found):
                    found = out
            time.sleep(0.02)
    if not found:
        raise Missing("ss never saw a held body")
    found = re.sub(rf":{port}\b", ":$PORT", found)
    print(f"  ss: {held} of {looked} looks met a held body", file=sys.stderr)
    return (shown("ss -tinH dst 127.0.0.1 and dport = :$PORT", "\n".join(line.strip() for line in found.splitlines()))
            + f"\n\n{held} of {looked} samples, some 25 ms apart, found the socket in this state.")


def capture(port: int, folder: Path) -> str:
    """The ACKs that came late, found by tshark in a capture."""
    if os.geteuid() != 0:
        raise Missing("capturing needs root")
    file = folder / "stall.pcap"
    with subprocess.Popen([installed("dumpcap", "tshark"), "-q", "-i", "lo", "-f", f"tcp port {port}", "-w", str(file)],
                          stderr=subprocess.DEVNULL) as dumpcap:
        time.sleep(1.5)
        output = run(patient(port, "--requests", "40"))
        time.sleep(1)
        dumpcap.terminate()
    fields = ["frame.time_relative", "tcp.srcport", "tcp.dstport", "tcp.len", "tcp.analysis.ack_rtt"]
    arguments = [argument for field in fields for argument in ("-e", field)]
    tshark = [installed("tshark"), "-r", str(file), "-T", "fields"]
    late = run([*tshark, "-Y", "tcp.len==0 && tcp.analysis.ack_rtt>0.03", *arguments]).splitlines()
    around = run([*tshark, "-Y", "tcp.len>0 || tcp.analysis.ack_rtt>0.03", *arguments]).splitlines()
    if not late:
        raise Missing("the capture holds no late ACK")
    first = around.index(late[-3])
    excerpt = re.sub(rf"\b{port}\b", "$PORT", "\n".join(around[max(first - 1, 0) : first + 3]))
    selected = " ".join(f"-e {field}" for field in fields)
    return (
        shown("dumpcap -q -i lo -f \"tcp port $PORT\" -w stall.pcap &  python3 bench/surveys/patient.py $URL", output) + "\n\n"
        + shown("tshark -r stall.pcap -Y 'tcp.len==0 && tcp.analysis.ack_rtt>0.03' | wc -l", str(len(late))) + "\n\n"
        + "One request in full, head, late ACK, body, answer:\n\n"
        + shown(f"tshark -r stall.pcap -Y 'tcp.len>0 || tcp.analysis.ack_rtt>0.03' -T fields {selected}", excerpt)
    )


def calls(port: int, folder: Path) -> str:
    """The system calls of one request, in steady state."""
    log = folder / "strace"
    run([installed("strace"), "-f", "-r", "-s", "48", "-e", "trace=setsockopt,connect,sendto,recvfrom", "-o", str(log),
         *patient(port, "--requests", "4")])
    lines = [re.sub(r"^\d+ +", "", line) for line in log.read_text().splitlines() if "AF_UNIX" not in line]
    lines = [re.sub(rf"htons\({port}\)", "htons($PORT)", re.sub(rf"127\.0\.0\.1:{port}", "127.0.0.1:$PORT", one)) for one in lines]
    connect = next(index for index, line in enumerate(lines) if "connect(" in line and "$PORT" in line)
    nodelay = sum("TCP_NODELAY" in line for line in lines)
    sends = [index for index, line in enumerate(lines) if "sendto(" in line and "POST" in line]
    last = lines[sends[-1] : sends[-1] + 3]
    return (
        shown("strace -f -r -s 48 -e trace=setsockopt,connect,sendto,recvfrom python3 bench/surveys/patient.py $URL --requests 4",
              "\n".join([lines[connect], "…", *last]))
        + f"\n\nThe whole trace names TCP_NODELAY {nodelay} times."
    )


def hooks(port: int) -> str:
    """onewrite's timing record of a request that stalls, and of one that does not."""
    python = python_command()[0]
    env = {name: value for name, value in os.environ.items() if not name.startswith("ONEWRITE_") and not name.lower().endswith("_proxy")}
    env["PYTHONPATH"] = str(ROOT / "python" / "src")
    observe = [python, str(ROOT / "python" / "examples" / "observe.py"), f"http://127.0.0.1:{port}/"]
    return "\n\n".join(
        shown(f"python3 python/examples/observe.py $URL{flag}", run([*observe, *flag.split()], env=env).replace(f":{port}/", ":$PORT/"))
        for flag in (" --sick", ""))


def main() -> int:
    parser = argparse.ArgumentParser(description="The outputs of docs/finding-a-stall.md.")
    parser.add_argument("--no-page", action="store_true", help="print instead of writing the page")
    options = parser.parse_args()
    blocks: dict[str, str] = {}
    with Servers() as servers:
        try:
            origin = servers.origin()
            port = servers.haproxy(origin, tuple(one for one in HAPROXY if one.key == "buffer"))["buffer"]
        except Missing as missing:
            print(missing, file=sys.stderr)
            return 3
        steps: dict[str, Callable[[], str]] = {
            "symptom": lambda: symptom(port, origin),
            "ss": lambda: sockets(port),
            "tshark": lambda: capture(port, servers.folder),
            "strace": lambda: calls(port, servers.folder),
            "hooks": lambda: hooks(port),
        }
        for name, step in steps.items():
            try:
                blocks[name] = step()
            except (Missing, subprocess.TimeoutExpired) as missing:
                print(f"  {name}: left out: {missing}", file=sys.stderr)
    if options.no_page:
        print("\n\n".join(f"## {name}\n{text}" for name, text in blocks.items()))
    else:
        fill(PAGE, blocks)
    return 0 if blocks else 2


if __name__ == "__main__":
    run_main(main)
