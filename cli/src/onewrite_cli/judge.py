"""The parts of the judge that this tool uses: the only file that imports them."""

from __future__ import annotations

from onewrite_conformance.tap import Answer, Arrival, Exchange, Request, RequestParser, Script, Tap, certificates
from onewrite_conformance.tap.__main__ import main as tap_main
from onewrite_conformance.tap.channel import Channel
from onewrite_conformance.tap.conversation import Conversation
from onewrite_conformance.tap.http1 import parse_response_head
from onewrite_conformance.witness import AVAILABLE as WITNESS_AVAILABLE
from onewrite_conformance.witness import SocketReading, WitnessError, connections
from onewrite_conformance.witness.netstat import LossCounters, read_loss
from onewrite_conformance.witness.tcpinfo import AVAILABLE as SEGMENTS_COUNTED
from onewrite_conformance.witness.tcpinfo import TcpInfo
from onewrite_conformance.witness.tcpinfo import read as read_tcp_info

__all__ = [
    "SEGMENTS_COUNTED",
    "WITNESS_AVAILABLE",
    "Answer",
    "Arrival",
    "Channel",
    "Conversation",
    "Exchange",
    "LossCounters",
    "Request",
    "RequestParser",
    "Script",
    "SocketReading",
    "Tap",
    "TcpInfo",
    "WitnessError",
    "certificates",
    "connections",
    "parse_response_head",
    "read_loss",
    "read_tcp_info",
    "tap_main",
]
