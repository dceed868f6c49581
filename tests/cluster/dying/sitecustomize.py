"""Kills one rank of a real run, half a second after it began to measure. Only the worker of rank 1 is touched."""

import os
import signal
import sys
import threading
import time

DELAY_S = 0.5


def _wait_for_the_measurement() -> None:
    while not hasattr(sys.modules.get("hpcbench_carried.node.measurement.timing"), "measure"):
        time.sleep(0.01)
    sampling = sys.modules["hpcbench_carried.node.measurement.timing"]
    measure = sampling.measure

    def doomed(*arguments: object, **options: object) -> object:
        threading.Timer(DELAY_S, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return measure(*arguments, **options)

    sampling.measure = doomed


if "work" in sys.orig_argv and os.environ.get("SLURM_PROCID") == "1":
    threading.Thread(target=_wait_for_the_measurement, daemon=True).start()
