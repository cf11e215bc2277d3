"""The tap: an HTTP/1.1 server that counts how a client's requests arrive. It does not depend on cases or adapters."""

from __future__ import annotations

from onewrite_lab.tap.answers import Answer, Script
from onewrite_lab.tap.channel import Channel
from onewrite_lab.tap.conversation import Conversation
from onewrite_lab.tap.exchange import Arrival, Exchange
from onewrite_lab.tap.http1 import Request, RequestParser
from onewrite_lab.tap.server import Tap

__all__ = [
    "Answer",
    "Arrival",
    "Channel",
    "Conversation",
    "Exchange",
    "Request",
    "RequestParser",
    "Script",
    "Tap",
]
