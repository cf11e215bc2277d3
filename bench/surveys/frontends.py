"""The proxies that are measured: one row each, with the configuration lines that make the row."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["HAPROXY", "NGINX", "Frontend", "haproxy_configuration", "nginx_configuration"]


@dataclass(frozen=True)
class Frontend:
    """`lines` go into the frontend (HAProxy) or the location (nginx), `bind` after the address."""

    key: str
    label: str
    lines: tuple[str, ...] = ()
    bind: str = ""
    tls: bool = False
    tcp: bool = False
    server: tuple[str, ...] = field(default=())


HAPROXY = (
    Frontend("default", "`mode http`, nothing else"),
    Frontend("buffer", "`option http-buffer-request`", ("option http-buffer-request",)),
    Frontend("waitbody", "`http-request wait-for-body`", ("http-request wait-for-body time 1s",)),
    Frontend("nosmart", "`no option tcp-smart-accept`", ("no option tcp-smart-accept",)),
    Frontend("tcp", "`mode tcp`", tcp=True),
    Frontend("tcpsmart", "`mode tcp`, `option tcp-smart-accept`", ("option tcp-smart-accept",), tcp=True),
    Frontend("defer", "`bind … defer-accept`", bind="defer-accept"),
    Frontend("inspect", "`tcp-request inspect-delay` + `WAIT_END`", (
        "tcp-request inspect-delay 1s", "tcp-request content accept if WAIT_END")),
    Frontend("checkpost", "`balance url_param … check_post`"),
    Frontend("bodylen", "rule on `req.body_len`", ("http-request deny if { req.body_len gt 100000 }",)),
    Frontend("nodelay", "`option http-no-delay`", ("option http-no-delay",)),
    Frontend("nodelaybuffer", "`option http-no-delay`, `option http-buffer-request`", (
        "option http-no-delay", "option http-buffer-request")),
    Frontend("ssl", "`ssl`", tls=True),
    Frontend("sslbuffer", "`ssl`, `option http-buffer-request`", ("option http-buffer-request",), tls=True),
    Frontend("ssltcp", "`ssl`, `mode tcp`", tls=True, tcp=True),
)

NGINX = (
    Frontend("nginx", "`proxy_pass`, nothing else"),
    Frontend("nginxstream", "`proxy_request_buffering off`", ("proxy_request_buffering off;",)),
    Frontend("nginxnagle", "`tcp_nodelay off`", server=("tcp_nodelay off;",)),
    Frontend("nginxreturn", "`return 200`, no upstream", ("return 200 '{}';",)),
)


def haproxy_configuration(frontends: tuple[Frontend, ...]) -> str:
    """One HAProxy with all frontends. Sockets, origin and certificate come from the topology."""
    parts = [
        "global\n  maxconn 200",
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s",
        'backend origin\n  server origin "${ONEWRITE_ORIGIN}"',
        'backend origin_tcp\n  mode tcp\n  server origin "${ONEWRITE_ORIGIN}"',
        'backend origin_checkpost\n  balance url_param id check_post\n  server origin "${ONEWRITE_ORIGIN}"',
    ]
    for one in frontends:
        ssl = ' ssl crt "${ONEWRITE_CERTIFICATE}"' if one.tls else ""
        backend = "origin_tcp" if one.tcp else "origin_checkpost" if one.key == "checkpost" else "origin"
        lines = [
            f"frontend {one.key}", f'bind "fd@${{FD_{one.key.upper()}}}"{ssl} {one.bind}'.rstrip(),
            "mode tcp" if one.tcp else "mode http", *one.lines, f"default_backend {backend}",
        ]
        parts.append("\n  ".join(lines))
    return "\n\n".join(parts) + "\n"


def nginx_configuration(frontends: tuple[Frontend, ...], ports: dict[str, int], origin: int, folder: str) -> str:
    """One nginx with all servers. It finds the sockets it inherits by their addresses."""
    servers = []
    for one in frontends:
        location = one.lines if one.lines and one.lines[0].startswith("return") else (
            "proxy_pass http://origin;", "proxy_http_version 1.1;", 'proxy_set_header Connection "";', *one.lines)
        servers.append("\n    ".join([
            "  server {", f"listen 127.0.0.1:{ports[one.key]};", *one.server, "location / { " + " ".join(location) + " }",
        ]) + "\n  }")
    temp = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return (
        f"daemon off;\nworker_processes 1;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx-error.log;\n"
        "events { worker_connections 256; }\nhttp {\n  access_log off;\n  keepalive_requests 100000;\n"
        f"  {temp}\n  upstream origin {{ server 127.0.0.1:{origin}; keepalive 16; }}\n" + "\n".join(servers) + "\n}\n"
    )
