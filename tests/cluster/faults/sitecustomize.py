"""Makes a real workload misbehave in a way chosen by the case's seed. Only the worker process is touched."""

import os
import signal
import sys
import time


def _hoard() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(os.urandom(1) * 50_000_000))


def _raise() -> None:
    raise RuntimeError("a deliberate mistake")


FAULTS = {
    1: _raise,
    2: lambda: os.kill(os.getpid(), signal.SIGSEGV),
    3: lambda: time.sleep(3600),
    4: _hoard,
}

if "work" in sys.orig_argv:
    import torch

    _manual_seed = torch.manual_seed

    def manual_seed(seed: int) -> object:
        FAULTS.get(seed, lambda: None)()
        return _manual_seed(seed)

    torch.manual_seed = manual_seed
