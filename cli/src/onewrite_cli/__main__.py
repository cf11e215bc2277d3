"""The command. Ctrl-C may come while the rest of it is still imported: that is an interrupt like any other."""

from __future__ import annotations

import signal
import sys

__all__ = ["main"]


def main() -> int:
    """Returns the exit status."""
    try:
        from onewrite_cli.app import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("onewrite: interrupted\n")
        return 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one, while Python ends


if __name__ == "__main__":
    sys.exit(main())
