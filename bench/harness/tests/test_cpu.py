from __future__ import annotations

import subprocess
import sys

import pytest

from onewrite_bench.engines.cpu import cpu_ns

PROGRAM = """
import sys, threading, time

def burn():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass

print("ready", flush=True)
sys.stdin.readline()
thread = threading.Thread(target=burn)
thread.start()
thread.join()
print("burnt", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say")
def test_the_cpu_time_of_a_thread_that_has_ended_counts() -> None:
    child = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        child.stdout.readline()
        before = cpu_ns(child.pid)
        child.stdin.write("go\n")
        child.stdin.flush()
        child.stdout.readline()
        after = cpu_ns(child.pid)
        child.stdin.close()
    assert before is not None
    assert after is not None
    assert 190e6 < after - before < 600e6
