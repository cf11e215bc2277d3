"""The tap: an HTTP/1.1 server that counts how a client's requests arrive. It knows no case and no adapter.

`python -m onewrite_conformance.tap` runs it alone.
"""

from __future__ import annotations

from onewrite_conformance.tap.answers import Answer, Script
from onewrite_conformance.tap.certificates import shared as certificates
from onewrite_conformance.tap.exchange import Arrival, Exchange
from onewrite_conformance.tap.http1 import Request, RequestParser
from onewrite_conformance.tap.server import Tap

__all__ = ["Answer", "Arrival", "Exchange", "Request", "RequestParser", "Script", "Tap", "certificates"]
