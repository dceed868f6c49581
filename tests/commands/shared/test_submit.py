"""A sweep that is larger than the queue: what is submitted, and how it continues. Slurm's commands are fakes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import SCONTROL, CommandLine

# A slurmctld that accepts LIMIT jobs in all. Jobs get the numbers 41, 42, ...; they stay in the queue until scancel.
SBATCH = """
tasks=1
for word; do
  case "$word" in
    --job-name=*) name=${word#*=};;
    --array=0-*) tasks=${word##*0-}; tasks=$((${tasks%%%*} + 1));;
    *follow-on.sh) name=study.follow-on;;
  esac
done
used=0; while read -r each job count; do used=$((used + count)); done < queued
if [ $((used + tasks)) -gt LIMIT ]; then
  echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2
  echo 'sbatch: error: Batch job submission failed: Job violates accounting/QOS policy' >&2
  exit 1
fi
n=$(cat n); n=$((n + 1)); echo $n > n; echo $n
echo "$name $n $tasks" >> queued
"""
SQUEUE = """
while read -r name job tasks; do
  index=0
  while [ $index -lt $tasks ]; do
    case "$name $*" in
      *--format=%U*) echo "UID|PENDING|$job";;
      *follow-on*--jobs=*) ;;
      *follow-on*) echo "$job|N/A|PENDING|UID|N/A|N/A||BeginTime|$name|/script.sh";;
      *) echo "$job|$index|PENDING|UID|N/A|N/A||Priority|$name|/script.sh";;
    esac
    index=$((index + 1))
  done
done < queued
""".replace("UID", str(os.getuid()))
SCANCEL = """
while read -r name job tasks; do [ "$job" = "$1" ] || echo "$name $job $tasks"; done < queued > left; cat left > queued
"""
REFUSED = "case \"$*\" in *follow-on*) echo 'sbatch: error: {}' >&2; exit 1;; esac; "
NO_LIMIT = 1000
BEGIN = "--begin=now+10minutes"


@dataclass
class Queue:
    """A Slurm that accepts a number of jobs."""

    command_line: CommandLine
    folder: Path
    fake: Callable[..., Path]
    variables: dict[str, str] = field(default_factory=dict)

    def sweep(self, limit: int, site: int | None = None, sbatch: str = "", expect: int = 0, **slurm: object) -> str:
        """Submit two arrays of ten jobs to a Slurm with this limit, with this one of the site file; return stderr."""
        self.fake(sbatch=sbatch + SBATCH.replace("LIMIT", str(limit)))
        limits = {} if site is None else {"max_submit_jobs": site}
        file = self.command_line.site("cluster", scheduler="slurm", limits=limits)
        experiment = self.command_line.experiment(
            parameters={"framework": "command", "command": "true", "model": None, "model_options": {}},
            matrix={"cpus_per_task": [1, 2], "seed": {"range": [1, 10]}},
            slurm={"follow_on": True, **slurm},
        )
        words = ("sweep", experiment, "--site", file, "--name", "study")
        return self.command_line(*words, expect=expect, env=self.variables).stderr

    @property
    def tried(self) -> list[str]:
        """The size of each array, and when each continuation job starts, in the order of the calls of sbatch."""
        words = (self.folder / "sbatch.called").read_text().splitlines()
        return [word for word in words if word.startswith(("--array", "--begin"))]

    @property
    def queued(self) -> list[int]:
        """The number of jobs of each array and continuation job in the queue."""
        return [int(line.split()[-1]) for line in (self.folder / "queued").read_text().splitlines()]

    @property
    def updates(self) -> list[str]:
        """The updates of continuation jobs."""
        called = self.folder / "scontrol.called"
        words = called.read_text().splitlines() if called.exists() else []
        return [word for word in words if word.startswith(("JobId", "Dependency", "StartTime"))]

    def check_packs(self) -> None:
        """Check that no run is in two arrays, and that refused arrays have left no file."""
        packs = [path for path in (self.command_line.workspace / "jobs/study/packs").iterdir() if "." in path.name]
        arrays = [line for line in (self.folder / "queued").read_text().splitlines() if "follow-on" not in line]
        assert len(packs) == len(arrays)
        elements = [(path.name.split(".")[0], line) for path in packs for line in path.read_text().split()]
        assert max(Counter(elements).values(), default=1) == 1


@pytest.fixture
def queue(command_line: CommandLine, fake_commands: Callable[..., Path]) -> Queue:
    folder = fake_commands(squeue=SQUEUE, scancel=SCANCEL, srun="exit 0", scontrol=SCONTROL, sacct="exit 0")
    (folder / "queued").touch()
    (folder / "n").write_text("40\n")
    return Queue(command_line, folder, fake_commands)


def after(job: int, array: int, indices: list[int]) -> list[str]:
    last = "?".join(f"afterany:{array}_{index}" for index in indices)
    return [f"JobId={job}", f"Dependency={last}", "StartTime=now"]


def test_a_sweep_that_fits_has_no_continuation_job(queue: Queue) -> None:
    assert queue.sweep(NO_LIMIT, site=20).endswith("submitted; see: hpcbench status study\n")
    assert queue.tried == ["--array=0-9", "--array=0-9"]


@pytest.mark.parametrize(
    ("site", "queued", "last"),
    [
        (19, [1, 10, 8], [7, 8, 9]),
        (11, [1, 10], [7, 8, 9]),
        (10, [1, 9], [6, 7, 8]),
        (3, [1, 2], [0, 1]),
        (2, [1, 1], [0]),
    ],
)
def test_the_limit_of_the_site_file_is_filled_and_the_continuation_job_counts(
    queue: Queue, site: int, queued: list[int], last: list[int]
) -> None:
    said = queue.sweep(NO_LIMIT, site=site)
    assert queue.queued == queued
    assert queue.updates == after(41, 42, last)
    assert f"limits.max_submit_jobs of the site file: 0 of {site} jobs" in said
    assert "continuation job 41 submits them when other jobs have ended" in said
    queue.check_packs()


@pytest.mark.parametrize(
    ("limit", "tried", "queued"),
    [
        (19, ["0-9", "0-9", BEGIN, "0-4", "0-2", "0-1", "0-0"], [10, 1, 5, 3]),
        (13, ["0-9", "0-9", BEGIN, "0-4", "0-2", "0-1", "0-0"], [10, 1, 2]),
        (8, ["0-9", BEGIN, "0-4", "0-2", "0-1", "0-0"], [1, 5, 2]),
        (2, ["0-9", BEGIN, "0-4", "0-2", "0-1", "0-0"], [1, 1]),
    ],
)
def test_an_array_that_slurm_refuses_is_halved_until_the_queue_is_full(
    queue: Queue, limit: int, tried: list[str], queued: list[int]
) -> None:
    said = queue.sweep(limit)
    assert queue.tried == [each if each == BEGIN else f"--array={each}" for each in tried]
    assert queue.queued == queued
    assert sum(queued) == limit
    left = 20 + 1 - limit
    assert f"{left} jobs of study did not fit into the queue: your limit on jobs in the queue in this QOS" in said
    assert "(QOSMaxSubmitJobPerUserLimit)" in said
    queue.check_packs()


def test_without_a_continuation_job_the_next_command_is_shown(queue: Queue) -> None:
    said = queue.sweep(8, follow_on=False)
    assert queue.queued == [5, 3]
    assert "12 jobs of study did not fit into the queue" in said
    assert "when other jobs have ended, submit them: hpcbench resume study --missing" in said
    queue.check_packs()


def test_arrays_with_a_limit_of_running_jobs_are_not_divided_further(queue: Queue) -> None:
    """The limit holds for each array: two arrays would run twice as many jobs."""
    queue.sweep(9, max_running=2, follow_on=False)
    assert queue.tried == ["--array=0-9%2", "--array=0-4%2", "--array=0-9%2", "--array=0-4%2", "--array=0-2%2"]
    assert queue.queued == [5, 3]


def test_a_queue_with_one_place_gets_a_job_instead_of_a_continuation_job(queue: Queue) -> None:
    said = queue.sweep(1, expect=2)
    assert queue.queued == [1]
    assert "19 jobs of study did not fit into the queue" in said
    assert "sbatch refused the continuation job: your limit on jobs in the queue in this QOS is reached" in said
    assert "hpcbench resume study --missing" in said
    queue.check_packs()


def test_a_queue_that_others_fill_is_tried_again_later(queue: Queue) -> None:
    (queue.folder / "queued").write_text("other 7 3\n")
    said = queue.sweep(4)
    assert queue.queued == [3, 1]
    assert queue.tried.count(BEGIN) == 1
    assert queue.updates == [], "it starts in ten minutes"
    assert "20 jobs of study did not fit into the queue" in said
    assert "continuation job 41 submits them" in said


def test_a_continuation_job_that_is_refused_is_reported_with_the_next_command(queue: Queue) -> None:
    said = queue.sweep(10, sbatch=REFUSED.format("invalid constraint"), expect=2)
    assert queue.queued == [10]
    assert "10 jobs of study did not fit into the queue" in said
    assert "sbatch refused the continuation job: invalid constraint" in said
    assert "hpcbench resume study --missing" in said


def test_a_continuation_job_without_place_for_the_next_one_is_requeued(queue: Queue) -> None:
    (queue.folder / "queued").write_text("study.follow-on 30 1\n")
    queue.variables = {"SLURM_JOB_ID": "30"}
    said = queue.sweep(2)
    assert queue.queued == [1, 1], "the sweep goes on, a job at a time"
    assert "requeue\n30\n" in (queue.folder / "scontrol.called").read_text()
    assert "continuation job 30 submits them" in said


def test_a_continuation_job_that_waits_already_is_not_submitted_again(queue: Queue) -> None:
    (queue.folder / "queued").write_text("study.follow-on 30 1\n")
    said = queue.sweep(10)
    assert BEGIN not in queue.tried
    assert sum(queue.queued) == 10
    assert "continuation job 30 submits them" in said


def test_after_an_error_no_continuation_job_is_left(queue: Queue) -> None:
    wrong = "case \"$*\" in *job-002.sh*) echo 'sbatch: error: invalid constraint' >&2; exit 1;; esac; "
    said = queue.sweep(NO_LIMIT, site=13, sbatch=wrong, expect=2)
    assert queue.tried[0] == BEGIN
    assert queue.queued == [10]
    assert "sbatch refused job-002: invalid constraint" in said


def test_an_error_half_way_is_followed_by_the_next_command(queue: Queue) -> None:
    failing = "echo 'sbatch: error: Unable to contact slurm controller' >&2; exit 1;"
    said = queue.sweep(NO_LIMIT, sbatch=failing, expect=2)
    assert "Unable to contact slurm controller" in said
    assert said.count("hpcbench resume study") == 1
