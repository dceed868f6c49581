"""The command that starts the tasks of a run. The driver of a job logs it as one line; `hpcbench show` prints it."""

import os
from typing import List, NamedTuple, Optional, Sequence

PROBE = "hpcbench_probe.zip"  # in the zipapp: the package hpcbench_probe, for the programs of users


class RankTask(NamedTuple):
    """The arguments of one task of a run."""

    zipapp: str
    job_file: str  # jobs/SWEEP/JOB.jsonl
    element: int  # the line of the job file that describes the run, counted from 0
    scratch: str  # the folder to which the tasks write their results
    packages: str  # the file for the list of installed packages, written once; empty for no list
    limit_s: Optional[float]  # the time limit of the task
    launcher: str = ""  # words of a shell: torchrun or mpirun, with the site's arguments, for a command that has it

    def words(self) -> List[str]:
        """Return the command without the Python that runs it."""
        options = ["--scratch", self.scratch, "--packages", self.packages]
        limit = [] if self.limit_s is None else ["--limit", "%.0f" % max(self.limit_s, 0.0)]
        launcher = ["--launcher", self.launcher] if self.launcher else []
        return [self.zipapp, "rank", self.job_file, str(self.element), *options, *limit, *launcher]

    @classmethod
    def parse(cls, words: Sequence[str]) -> "RankTask":
        """Return the task of a command that `words` has returned. Raise ValueError or KeyError for other commands.

        This does not use argparse, because its import takes as long as the start of Python, for each task of each run.
        """
        zipapp, _, job_file, element, *options = words
        given = dict(zip(options[::2], options[1::2]))
        limit = float(given["--limit"]) if "--limit" in given else None
        names = given["--scratch"], given.get("--packages", "")
        return cls(zipapp, job_file, int(element), *names, limit, given.get("--launcher", ""))


def run_command(srun: Sequence[str], share: Sequence[str], python: Sequence[str], task: RankTask) -> List[str]:
    """Return the command that runs all tasks of a run, or one task of it if `srun` is empty.

    `share` are options of srun by which concurrent runs share a job. `python` is the command that starts the Python of
    the workload, in its container if it has one.
    """
    return [*srun, *share, *python, *task.words()]


def scratch_folder(running: str, element: int, process: str, restart: str, attempt: int) -> str:
    """Return the path of the scratch folder of an attempt. Its name identifies the processes of the attempt.

    `process` is the ID of the Slurm job, or of the driver process on this machine. `restart` is the number of times
    that Slurm has requeued the job.
    """
    return os.path.join(running, "%d-%s-%s-%d" % (element, process, restart, attempt))


def packages_file(results: str, environment: str) -> str:
    """Return the path of the list of packages in an environment of a sweep."""
    return os.path.join(results, "environments", environment + ".json")
