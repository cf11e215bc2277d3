"""Whole exchanges, ours against stock: ``python test/fuzz_exchanges.py urllib3|httpx COUNT [SEED]``."""

from __future__ import annotations

import logging
import pathlib
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import exchanges
import httpx_exchanges


def main(library: str, count: int, seed: int) -> None:
    logging.disable()  # urllib3 warns of heads that it cannot parse
    warnings.simplefilter("ignore")
    run = {"urllib3": exchanges.run, "httpx": httpx_exchanges.run}[library]
    began = time.monotonic()
    for done in range(0, count, 500):
        run(min(500, count - done), seed + done)
        print(f"{library}: {min(done + 500, count)} exchanges, no difference", flush=True)
    print(f"{time.monotonic() - began:.0f} s, seed {seed}")


if __name__ == "__main__":
    main(sys.argv[1], *[int(argument) for argument in (*sys.argv[2:], "1")][:2])
