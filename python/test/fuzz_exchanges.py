"""Whole exchanges, ours against stock urllib3: ``python test/fuzz_exchanges.py [COUNT [SEED]]``."""

from __future__ import annotations

import logging
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import exchanges


def main(count: int, seed: int) -> None:
    logging.disable()  # urllib3 warns of heads that it cannot parse
    warnings.simplefilter("ignore")
    began = time.monotonic()
    for done in range(0, count, 500):
        exchanges.run(min(500, count - done), seed + done)
        print(f"{min(done + 500, count)} exchanges, no difference", flush=True)
    print(f"{time.monotonic() - began:.0f} s, seed {seed}")


if __name__ == "__main__":
    main(*[int(argument) for argument in (*sys.argv[1:], *(("10000", "1")[len(sys.argv) - 1 :]))][:2])
