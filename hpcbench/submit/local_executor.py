"""Running a sweep on this machine: the same scripts, one repetition at a time, in the foreground."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from hpcbench.core.files import no_link
from hpcbench.store.workspace import SweepPaths

STOP_GRACE_S = 30.0  # Slurm's default KillWait


def run_one(paths: SweepPaths, job: str, element: int, limit_s: int, lock: int | None) -> None:
    """Run one element to its end, or to its wall time. Its record is written by the script itself.

    The script, but no program that is measured, inherits the descriptor of the sweep's lock: where this process is
    killed, it still keeps others out until its record is written. KeyboardInterrupt ends the repetition first, then
    passes.
    """
    log = paths.log(job, element, None)
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb", opener=no_link) as output:
        script = subprocess.Popen(
            ["bash", str(paths.script(job)), str(element)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_environment(log),
            pass_fds=() if lock is None else (lock,),
            start_new_session=True,  # the whole repetition can be stopped as one group
        )
    try:
        script.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        _stop(script)
    except KeyboardInterrupt:
        _stop(script)
        raise


def _environment(log: Path) -> dict[str, str]:
    """Variables of an enclosing Slurm job would make the script believe that it is one."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    return {**inherited, "HPCBENCH_LOG": str(log)}


def _stop(script: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the whole group, as Slurm does; the script outlives it and writes the record. Then SIGKILL."""
    _signal(script, signal.SIGTERM)
    try:
        script.wait(timeout=STOP_GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        _signal(script, signal.SIGKILL)
        script.wait()


def _signal(script: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(script.pid, number)
