"""Starts servers and proxies: HAProxy, nginx, a relay, a forward proxy. Whatever was started ends with its starter."""

from __future__ import annotations

from onewrite_lab.servers.children import Child, Children, LabError, installed, script
from onewrite_lab.servers.haproxy import HAProxy
from onewrite_lab.servers.network import LOOPBACK, Network
from onewrite_lab.servers.nginx import Nginx

__all__ = ["LOOPBACK", "Child", "Children", "HAProxy", "LabError", "Network", "Nginx", "installed", "script"]
