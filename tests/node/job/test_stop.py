"""A signal to end reaches all who wait; other signals reach none."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.integration

LANES = """
import os, signal, sys, threading, time
from hpcbench.node.job.stop import Stop
stop = Stop()
signal.signal(signal.SIGUSR1, lambda number, frame: None)
read_end, write_end = os.pipe()
ended = []
waits = 2 * [lambda: stop.wait(60)] + [lambda: stop.wait_for(read_end), lambda: stop.wait_for(read_end, 60)]
lanes = [threading.Thread(target=lambda wait=wait: ended.append(wait()), daemon=True) for wait in waits]
for lane in lanes:
    lane.start()
for number in [signal.SIGUSR1] * 5:
    os.kill(os.getpid(), number)
    time.sleep(0.05)
print(len(ended), stop.requested)
os.kill(os.getpid(), signal.SIGTERM)
for lane in lanes:
    lane.join(20)
print(len(ended), stop.requested, stop.wait_for(read_end))
"""
READABLE = """
import os
from hpcbench.node.job.stop import Stop
stop = Stop()
read_end, write_end = os.pipe()
print(stop.wait_for(read_end, 0.01))
os.write(write_end, b"x")
print(stop.wait_for(read_end, 20), stop.wait_for(read_end))
"""


def printed(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True).stdout


def test_a_signal_to_end_reaches_all_lanes_that_wait_and_other_signals_none() -> None:
    assert printed(LANES) == "0 False\n4 True False\n"


def test_what_can_be_read_ends_a_wait() -> None:
    assert printed(READABLE) == "False\nTrue True\n"
