"""Whether the garbage collector is running on this thread.

It may begin at any allocation, also while the SDK holds one of its locks. A response that it frees is closed there;
reporting that to the SDK at once would deadlock on the lock.
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
