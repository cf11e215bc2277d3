"""A million response heads, ours against the standard parser: ``python test/fuzz_heads.py [COUNT [SEED]]``."""

from __future__ import annotations

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import heads


def main(count: int, seed: int) -> None:
    began = time.monotonic()
    done = short = 0
    while done < count:
        compared, took = heads.run(min(50_000, count - done), seed + done)
        done, short = done + compared, short + took
        print(f"{done} heads, {short} of them the short way, no difference", flush=True)
    print(f"{time.monotonic() - began:.0f} s, seed {seed}")


if __name__ == "__main__":
    main(*[int(argument) for argument in (*sys.argv[1:], *(("1000000", "1")[len(sys.argv) - 1 :]))][:2])
