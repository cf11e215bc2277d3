"""Starts relays and tunnels that people run before a service: socat, redir, ncat, ssh -L, stunnel, nginx's stream.

Each listens on a port that was just free, and leads to the origin with its default options.
"""

from __future__ import annotations

import getpass
import socket
import subprocess
import time
from pathlib import Path

from onewrite_lab.certificates import Certificates
from onewrite_lab.servers.children import Child, Children, guarded, installed

from onewrite_bench.failures import BenchError

__all__ = ["start"]

STREAM = Path("/usr/lib/nginx/modules/ngx_stream_module.so")


def start(name: str, children: Children, directory: Path, origin: int) -> int:
    """Start a relay to the port `origin` and return its port. Raises BenchError where its package is missing."""
    folder = directory / name
    folder.mkdir()
    makers = {"stunnel": _stunnel, "ssh": _ssh, "nginx-stream": _nginx_stream}
    if name in makers:
        return makers[name](children, folder, origin)
    port = _free_port()
    near, far = f"127.0.0.1:{port}", f"127.0.0.1:{origin}"
    arguments = {
        "socat": [f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr", f"TCP:{far}"],
        "redir": ["-n", near, far],
        "ncat": ["-l", "127.0.0.1", str(port), "-k", "--sh-exec", f"ncat 127.0.0.1 {origin}"],
    }
    return _run(children, name, port, installed(name), *arguments[name])


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _run(children: Children, name: str, port: int, *command: str) -> int:
    """Start a program and wait until it listens."""
    child = children.start(name, guarded(*command), wait=False)
    _await(child, port)
    return port


def _await(child: Child, port: int, timeout_s: float = 15) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError as error:
            if child.ended() or time.monotonic() > deadline:
                raise BenchError(f"{child.name} did not start{child.last_words()}") from error
            time.sleep(0.05)


def _stunnel(children: Children, folder: Path, origin: int) -> int:
    """Two of them, as between two hosts: the near one encrypts, the far one decrypts."""
    program = installed("stunnel4")
    near, far = _free_port(), _free_port()
    common = f"foreground = yes\npid = {folder}/%s.pid\n[relay]\naccept = 127.0.0.1:%d\nconnect = 127.0.0.1:%d\n"
    certificate = Certificates(folder).server_file()
    texts = {
        "far": common % ("far", far, origin) + f"cert = {certificate}\n",
        "near": common % ("near", near, far) + "client = yes\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.conf").write_text(text)
        _run(children, f"stunnel-{name}", far if name == "far" else near, program, str(folder / f"{name}.conf"))
    return near


def _ssh(children: Children, folder: Path, origin: int) -> int:
    """An OpenSSH server with temporary keys, and `ssh -N -L` to it."""
    server, client = installed("sshd", "openssh-server"), installed("ssh", "openssh-client")
    for key in ("host", "user"):
        command = [installed("ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)]
        subprocess.run(command, check=True, timeout=30)
    far, near = _free_port(), _free_port()
    options = [f"HostKey={folder}/host", f"AuthorizedKeysFile={folder}/user.pub", "StrictModes=no", "UsePAM=no"]
    options += ["PidFile=none", "PermitRootLogin=yes", "ListenAddress=127.0.0.1"]
    words = [word for option in options for word in ("-o", option)]
    Path("/run/sshd").mkdir(exist_ok=True)  # OpenSSH needs it for its privilege separation
    _run(children, "sshd", far, server, "-D", "-e", "-f", "/dev/null", "-p", str(far), *words)
    quiet = ["-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known", "-o", "BatchMode=yes"]
    forward = ["-N", "-L", f"127.0.0.1:{near}:127.0.0.1:{origin}", "-p", str(far), "-i", str(folder / "user")]
    account = f"{getpass.getuser()}@127.0.0.1"
    return _run(children, "ssh", near, client, "-F", "none", *quiet, *forward, account)


def _nginx_stream(children: Children, folder: Path, origin: int) -> int:
    port = _free_port()
    if not STREAM.exists():
        raise BenchError("nginx has no stream module: sudo apt-get install nginx-light libnginx-mod-stream")
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"load_module {STREAM};\ndaemon off;\nworker_processes 1;\npid {folder}/nginx.pid;\n"
        f"error_log {folder}/error.log;\nevents {{}}\n"
        f"stream {{ server {{ listen 127.0.0.1:{port}; proxy_pass 127.0.0.1:{origin}; }} }}\n"
    )
    command = [installed("nginx", "nginx-light"), "-p", str(folder), "-e", str(folder / "early.log")]
    return _run(children, "nginx-stream", port, *command, "-c", str(configuration))
