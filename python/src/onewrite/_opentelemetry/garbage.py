"""Whether the garbage collector runs on this thread just now.

It may begin in any allocation, one made while the SDK holds a lock of its own among them. A connection or a response
that it finds is closed there; to tell the SDK of that at once would wait for that lock for ever.
"""

from __future__ import annotations

import gc
import threading
import typing

_thread = 0


def collecting() -> bool:
    """Whether what calls this is called by the collector."""
    return _thread == threading.get_ident()


def _note(phase: str, info: dict[str, typing.Any]) -> None:
    global _thread
    _thread = threading.get_ident() if phase == "start" else 0


gc.callbacks.append(_note)
