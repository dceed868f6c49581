"""Start the tasks of a run: by srun in a Slurm job, otherwise as processes of this machine."""

import os
import re
import shlex
import subprocess
import sys
from typing import List, Optional, Tuple

from ...core.rank_command import RankTask, run_command
from ...core.run_spec import PlannedRun
from .job import Job
from .output import Output
from .stop import Stop

Version = Optional[Tuple[int, int]]

_VERSION = re.compile(r"(\d+)\.(\d+)")
SHARES_NODES = (22, 5)  # the first version in which steps can share GPUs and CPUs (--overlap)
EXACT = (21, 8)  # later versions need --exact to limit a step to what it requests; up to here, --exclusive does


def slurm_version() -> Tuple[Version, str]:
    """Return the version of Slurm, as numbers and as srun prints it; None and an empty text if srun cannot be run."""
    try:
        done = subprocess.run(["srun", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None, ""
    output = done.stdout.decode("utf-8", "replace").strip()
    found = _VERSION.search(output)
    return (int(found.group(1)), int(found.group(2))) if found else None, output


def own_share(version: Version, width: int) -> List[str]:
    """Return the options that limit srun to the share of one of `width` concurrent runs in the job.

    They include an equal share of the memory: by default, a step takes all memory.
    """
    words = ["--exact" if version and version > EXACT else "--exclusive"]
    if "SLURM_MEM_PER_NODE" in os.environ:
        words.append("--mem=%d" % (int(os.environ["SLURM_MEM_PER_NODE"]) // width))
    elif "SLURM_MEM_PER_CPU" in os.environ:
        words.append("--mem-per-cpu=%s" % os.environ["SLURM_MEM_PER_CPU"])
    return words


def on_each_node(nodes: int) -> List[str]:
    """Return the srun command of one unbound process on each of several nodes, which shares the resources of the tasks.

    It requires Slurm 22.05. Without --mem=0, the step would be limited to --mem-per-cpu of one CPU. With it, the step
    may use all memory of the job, and takes none from other steps: https://slurm.schedmd.com/srun.html#OPT_mem
    """
    each = ["--nodes=%d" % nodes, "--ntasks=%d" % nodes, "--ntasks-per-node=1", "--cpus-per-task=1"]
    return ["srun", "--overlap", "--mem=0", *each, "--cpu-bind=none", "--mpi=none"]


def launch(job: Job, planned: PlannedRun, share: List[str], task: RankTask, output: Output, stop: Stop) -> int:
    """Run the tasks of a run; return their exit status as a shell does: 128 plus the number of a signal.

    The log gets the command as one line, which can be pasted into a shell inside the allocation.
    """
    command = run_command(job.srun or [], share, job.python, task)
    output.report(shlex.join(command))
    if job.on_slurm:
        return _status(_run(command, output, stop))
    from ..launch.local_launcher import executing, run_tasks  # not needed on Slurm
    from . import local_rank

    does = local_rank.forked(task, job.python) or executing(command)
    cpus = planned.tasks * int(planned.parameters["cpus_per_task"]) // planned.supervised
    return run_tasks(planned.supervised, cpus, does, stop.calling)


def _run(command: List[str], output: Output, stop: Stop) -> int:
    try:
        descriptor = output.descriptor
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=descriptor, stderr=descriptor)
    except OSError as error:
        output.report("%s: %s" % (command[0], error.strerror))
        return 127
    if command[0] == "srun":  # Slurm signals the tasks of a step
        return process.wait()
    with stop.calling(process.terminate):
        return process.wait()


def _status(returned: int) -> int:
    return returned if returned >= 0 else 128 - returned


def monitor_words(zipapp: str, nodes_folder: str) -> List[str]:
    """Return the command of a monitor, which runs with the Python of the driver."""
    return [sys.executable, "-I", zipapp, "monitor", "--nodes", nodes_folder]
