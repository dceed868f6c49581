"""The command `job` of the zipapp, which is the last line of a job script."""

import os
import shlex
import sys
from typing import Any

from .driver import drive, pack, serve
from .give_up import GaveUpError, give_up
from .job import Job


def job(arguments: Any) -> int:
    """Run the elements of a job; return 0 if all completed, otherwise 1."""
    try:
        return _run(arguments)
    except GaveUpError:  # the reason is in the log
        return 1


def _run(arguments: Any) -> int:
    slurm = arguments.srun is not None
    if not slurm and not arguments.elements and arguments.serve is None:
        give_up("the element to run is missing")
    if slurm and not os.environ.get("SLURM_JOB_ID"):
        give_up("this is not a Slurm job: submit the script with sbatch")
    index = int(os.environ.get("SLURM_ARRAY_TASK_ID") or 0)
    array = os.environ.get("SLURM_ARRAY_JOB_ID") or os.environ.get("SLURM_JOB_ID") or ""
    name = "%s_%d" % (array, index) if slurm else "local"
    folder = os.path.dirname(os.path.abspath(arguments.job_file))
    # On Slurm, the variable comes from the local run that submitted this job.
    given = None if slurm else os.environ.get("HPCBENCH_LOG")
    log = given or os.path.join(folder, "logs", arguments.batch, name + "_0_log.out")
    # After a requeue, the earlier start may still run on a node that lost its connection: each start has its own file.
    restart = os.environ.get("SLURM_RESTART_COUNT") if slurm else None
    batch = arguments.batch + (".%s" % restart if restart else "")
    described = Job(
        file=os.path.join(folder, os.path.basename(arguments.job_file)),
        results=arguments.results,
        batch=arguments.batch,
        log=log,
        records=os.path.join(arguments.results, "records", batch, name + ".jsonl"),
        python=shlex.split(arguments.python),
        srun=shlex.split(arguments.srun) if slurm else None,
        limit_s=arguments.limit,
        zipapp=os.path.abspath(sys.argv[0]),
        launcher=arguments.launcher,
    )
    if arguments.serve is not None:
        return serve(described, arguments.serve)
    return drive(described, arguments.elements or pack(described, index))
