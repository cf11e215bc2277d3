"""The options of `onewrite check`."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["CheckOptions"]


@dataclass
class CheckOptions:
    """Without a command the tool listens. With {port} in it, or `port`, the command is a server; else a client."""

    command: list[str]
    requests: int = 20
    until: int | None = None
    body: int = 200
    tls: bool = False
    proxy: bool = False
    port: int | None = None
    path: str = "/"
    rules: list[str] = field(default_factory=list)
    strict: bool = False
    timeout_s: float = 120.0
    show: bool = False
    format: str = "text"
