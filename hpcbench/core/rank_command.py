"""The command that starts the tasks of a run: a job's driver logs it as one line, `hpcbench show` prints the same."""

import os
from typing import List, NamedTuple, Optional, Sequence


class RankTask(NamedTuple):
    """What one task of a run does."""

    zipapp: str
    job_file: str  # jobs/SWEEP/JOB.jsonl
    element: int  # the line of it that describes the run, counted from 0
    scratch: str  # the folder for what the tasks leave
    packages: str  # the file of what the environment has installed, written once; empty if it is not wanted
    limit_s: Optional[float]  # after which the task is ended

    def words(self) -> List[str]:
        """Return the command without the Python that runs it."""
        options = ["--scratch", self.scratch, "--packages", self.packages]
        limit = [] if self.limit_s is None else ["--limit", "%.0f" % max(self.limit_s, 0.0)]
        return [self.zipapp, "rank", self.job_file, str(self.element), *options, *limit]

    @classmethod
    def parse(cls, words: Sequence[str]) -> "RankTask":
        """Return the task of which `words` are the words. Raise ValueError or KeyError if they are none.

        argparse would do the same, but its import takes as long as the start of Python, for each task of each run.
        """
        zipapp, _, job_file, element, *options = words
        given = dict(zip(options[::2], options[1::2]))
        limit = float(given["--limit"]) if "--limit" in given else None
        return cls(zipapp, job_file, int(element), given["--scratch"], given.get("--packages", ""), limit)


def run_command(srun: Sequence[str], share: Sequence[str], python: Sequence[str], task: RankTask) -> List[str]:
    """Return the command that runs all tasks of a run, or one task of it if `srun` is empty.

    `share` are options of srun by which concurrent runs share a job, `python` the words that start the Python of the
    workload, in its container if it has one.
    """
    return [*srun, *share, *python, *task.words()]


def scratch_folder(running: str, element: int, process: str, restart: str, attempt: int) -> str:
    """Return the scratch folder of an attempt. Its name marks its processes.

    `process` is the number of the Slurm job, or of the driver on this machine; `restart` how often Slurm has restarted
    the job.
    """
    return os.path.join(running, "%d-%s-%s-%d" % (element, process, restart, attempt))


def packages_file(results: str, environment: str) -> str:
    """Return the file that says what an environment of a sweep has installed."""
    return os.path.join(results, "environments", environment + ".json")
