"""Which proxy configurations stall a split POST: measures all of them and writes docs/proxies.md.

usage: proxies.py [--requests N] [--no-page]     exit: 0 measured, 2 inconclusive (a control did not behave), 3 a program is missing
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time

from onewrite_lab.servers import haproxy
from onewrite_lab.servers.children import installed
from onewrite_lab.servers.nginx import Nginx

from faulty import events, serve, upload
from shared import HERE, MODES, ROOT, Sample, Servers, fill, machine, measure, run, table

PAGE = ROOT / "docs" / "proxies.md"
HAPROXY = {  # frontend of haproxy.cfg: the row's name
    "default": "`mode http`, nothing else",
    "buffer": "`option http-buffer-request`",
    "waitbody": "`http-request wait-for-body`",
    "nosmart": "`no option tcp-smart-accept`",
    "tcp": "`mode tcp`",
    "tcpsmart": "`mode tcp`, `option tcp-smart-accept`",
    "defer": "`bind … defer-accept`",
    "inspect": "`tcp-request inspect-delay` + `WAIT_END`",
    "checkpost": "`balance url_param … check_post`",
    "bodylen": "rule on `req.body_len`",
    "nodelay": "`option http-no-delay`",
    "nodelaybuffer": "`option http-no-delay`, `option http-buffer-request`",
    "ssl": "`ssl`",
    "sslbuffer": "`ssl`, `option http-buffer-request`",
    "ssltcp": "`ssl`, `mode tcp`",
}
NGINX = {  # server of nginx.conf
    "plain": "nginx, `proxy_pass`, nothing else",
    "stream": "nginx, `proxy_request_buffering off`",
    "nagle": "nginx, `tcp_nodelay off`",
    "return": "nginx, `return 200`, no upstream",
}


def versions() -> str:
    """Of the programs that are measured, whichever come first on PATH, with the package that they are from."""
    nginx = installed("nginx", "nginx-light")
    text = subprocess.run([nginx, "-v"], capture_output=True, text=True, timeout=10, check=False).stderr
    of = {haproxy.find(): f"HAProxy {haproxy.version()}", nginx: f"nginx {text.partition('nginx/')[2].split()[0]}"}
    return ", ".join(f"{name} ({_source(program)})" for program, name in of.items())


def _source(program: str) -> str:
    if shutil.which("dpkg") is not None:
        known = subprocess.run(["dpkg", "-S", program], capture_output=True, text=True, timeout=30, check=False)
        if known.returncode == 0:
            return f"package {known.stdout.split(':')[0]}"
    return "of no package"


def nginx_ports(servers: Servers, origin: int) -> dict[str, int]:
    folder = servers.folder / f"nginx-{origin}"
    folder.mkdir()

    def written(ports: dict[str, int]) -> str:
        text = (HERE / "nginx.conf").read_text().replace("@FOLDER@", str(folder)).replace("@ORIGIN@", f"127.0.0.1:{origin}")
        for name, port in ports.items():
            text = text.replace(f"@{name.upper()}@", f"127.0.0.1:{port}")
        return text

    return Nginx(servers.children, folder, list(NGINX), written).ports


def row(label: str, samples: dict[str, Sample]) -> list[str]:
    segments = " / ".join("?" if one.segments is None else str(one.segments) for one in samples.values())
    cells = [label, *(one.cell() for one in samples.values()), segments]
    print("  " + " | ".join(cells), file=sys.stderr)
    return cells


def stream_row(label: str, port: int) -> list[str]:
    lags = (events(port), upload(port))
    cells = [label, *(f"{value:.1f} ms" for lag in lags for value in (lag[0], statistics.median(lag), max(lag)))]
    print("  stream: " + " | ".join(cells), file=sys.stderr)
    return cells


def main() -> int:
    parser = argparse.ArgumentParser(description="Which proxy configurations stall a split POST.")
    parser.add_argument("--requests", type=int, default=40, help="per mode and row, after warm-up")
    parser.add_argument("--no-page", action="store_true", help="leave docs/proxies.md as it is")
    options = parser.parse_args()
    n = options.requests
    with Servers() as servers:
        named = versions()
        origin, streams = servers.origin(), serve()
        authority = servers.certificates.ca_file
        ports = servers.haproxy(origin)
        of_haproxy = [
            row(label, measure(ports[name], requests=n, authority=authority if name.startswith("ssl") else None))
            for name, label in HAPROXY.items()
        ]
        nginx = nginx_ports(servers, origin)
        others = [row(label, measure(nginx[name], requests=n)) for name, label in NGINX.items()]
        direct = measure(origin, requests=n)
        others.append(row("no proxy: an origin that keeps connections open", direct))
        relayed = measure(servers.relay(origin), requests=n, gap_us=1000)
        others.append(row("TCP relay with Nagle on, client's writes 1 ms apart", relayed))
        ports, nginx = servers.haproxy(streams), nginx_ports(servers, streams)
        streamed = [
            stream_row("no proxy", streams),
            stream_row("HAProxy, `mode http`, nothing else", ports["default"]),
            stream_row("HAProxy, `option http-no-delay`", ports["nodelay"]),
            stream_row("HAProxy, `mode tcp`", ports["tcp"]),
            stream_row(NGINX["plain"], nginx["plain"]),
            stream_row(NGINX["stream"], nginx["stream"]),
        ]
    if not direct["Nagle, two writes"].stalls or direct["Nagle, one write"].noisy:
        print("proxies: inconclusive: the control did not stall, or the machine is too busy; nothing was written", file=sys.stderr)
        return 2
    if not options.no_page:
        head = ["", *MODES, "segments per POST"]
        fill(PAGE, {
            "versions": f"Measured {time.strftime('%Y-%m-%d')} with {named}; {machine()}. Per cell {n} POSTs of 200 bytes "
            "on one kept-alive connection after 16 of warm-up, all three clients in turn.",
            "haproxy": table(head, of_haproxy),
            "others": table(head, others),
            "streams": table(["", "first event", "event lag p50", "max", "first upload piece", "piece lag p50", "max"], streamed),
        })
        print(f"proxies: wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    run(main)
