"""The local launcher: what srun is on a cluster, this is on a machine without Slurm.

It starts the tasks of a case, gives each its own CPUs, and ends all of them when one fails.
"""

import os
import signal
import subprocess
import time
from typing import Any, List, Sequence

from ..host.hardware import usable_cpus

KILL_AFTER_S = 8.0  # a supervisor may need six seconds to end its worker and write how it ended
POLL_S = 0.02


def spawn(tasks: int, cpus_per_task: int, command: List[str]) -> int:
    """Run `command` as `tasks` processes, each on CPUs of its own where there are enough; returns as `spawn_on`."""
    cpus = usable_cpus()
    share = cpus_per_task if tasks * cpus_per_task <= len(cpus) else 0
    return spawn_on([cpus[rank * share : (rank + 1) * share] for rank in range(tasks)], command)


def spawn_on(shares: Sequence[Sequence[int]], command: List[str]) -> int:
    """Run `command` once for each share of CPUs; an empty one binds to none. Returns the first exit status that is not
    0, else 0."""
    processes: "List[subprocess.Popen[bytes]]" = []
    told_to_stop = False

    def stop(number: int, frame: Any) -> None:
        nonlocal told_to_stop
        told_to_stop = True
        _end(processes)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    for rank, share in enumerate(shares):
        environment = dict(os.environ, HPCBENCH_RANK=str(rank), HPCBENCH_RANKS=str(len(shares)))
        environment["HPCBENCH_LAUNCHER"] = str(os.getpid())
        if share:
            environment["HPCBENCH_CPUS"] = ",".join(map(str, share))
        processes.append(subprocess.Popen(command, env=environment))
        if told_to_stop:  # while this one was started, so that it was not among those that were ended
            _end(processes)
            break
    return _wait(processes)


def _wait(processes: "List[subprocess.Popen[bytes]]") -> int:
    failed = 0
    while None in [process.poll() for process in processes]:  # a list: each of them must be polled
        failed = failed or next((p.returncode for p in processes if p.returncode), 0)
        if failed:
            _end(processes)
            break
        time.sleep(POLL_S)
    deadline = time.monotonic() + KILL_AFTER_S
    for process in processes:
        try:
            process.wait(timeout=max(0.0, deadline - time.monotonic()) if failed else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    failed = failed or next((p.returncode for p in processes if p.returncode), 0)
    return failed if failed >= 0 else 128 - failed


def _end(processes: "List[subprocess.Popen[bytes]]") -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
