"""A sweep that is larger than the queue: what is submitted, and how it goes on. Slurm's commands are fakes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import CommandLine

# Jobs get the numbers 41, 42, ...; arrays stay in the queue.
COUNTED = """
n=$(cat n 2>/dev/null || echo 40); n=$((n + 1)); echo $n > n; echo $n
for word; do
  case "$word" in
    --job-name=*) name=${word#*=};;
    --array=0-*) echo "$name $n ${word##*-}" >> queued;;
  esac
done
"""
QUEUED = """
: >> queued
while read -r name job last; do
  index=0
  while [ $index -le $last ]; do
    case "$*" in *--name=*) echo "$name|$job|$index|PENDING|Priority|";; *) echo "UID|PENDING";; esac
    index=$((index + 1))
  done
done < queued
""".replace("UID", str(os.getuid()))
REFUSED = "case \"$*\" in *follow-on*) echo 'sbatch: error: {}' >&2; exit 1;; esac; "


@dataclass
class Queue:
    """What was submitted to a Slurm that takes so many jobs of a user."""

    command_line: CommandLine
    fake: Callable[..., Path]
    squeue: str = QUEUED
    variables: dict[str, str] = field(default_factory=dict)

    def sweep(self, most: int, sbatch: str = COUNTED, expect: int = 0, **slurm: object) -> str:
        """Submit two arrays of ten jobs; return what is said."""
        others = dict.fromkeys(("srun", "scancel", "scontrol"), "exit 0")
        self.folder = self.fake(sbatch=sbatch, squeue=self.squeue, **others)
        site = self.command_line.site("cluster", scheduler="slurm", limits={"max_submit_jobs": most})
        experiment = self.command_line.experiment(
            parameters={"framework": "command", "command": "true", "model": None, "model_options": {}},
            matrix={"cpus_per_task": [1, 2], "seed": {"range": [1, 10]}},
            slurm={"follow_on": True, **slurm},
        )
        words = ("sweep", experiment, "--site", site, "--name", "study")
        return self.command_line(*words, expect=expect, env=self.variables).stderr

    @property
    def submitted(self) -> list[str]:
        """The size of each array, or how a job that follows on is to wait."""
        words = (self.folder / "sbatch.called").read_text().splitlines()
        return [word for word in words if word.startswith(("--array", "--begin", "--dependency"))]


@pytest.fixture
def queue(command_line: CommandLine, fake_commands: Callable[..., Path]) -> Queue:
    return Queue(command_line, fake_commands)


def after(last: list[int]) -> str:
    return f"--dependency={'?'.join(f'afterany:41_{index}' for index in last)}"


def test_where_all_fits_nothing_follows_on(queue: Queue) -> None:
    assert queue.sweep(20).endswith("submitted; see: hpcbench status study\n")
    assert queue.submitted == ["--array=0-9", "--array=0-9"]


@pytest.mark.parametrize(
    ("most", "sizes", "last"),
    [
        (19, ["--array=0-9", "--array=0-7"], [7, 8, 9]),
        (11, ["--array=0-9"], [7, 8, 9]),
        (10, ["--array=0-8"], [6, 7, 8]),
        (3, ["--array=0-1"], [0, 1]),
    ],
)
def test_a_place_is_kept_for_the_job_that_follows_on(
    queue: Queue, most: int, sizes: list[str], last: list[int]
) -> None:
    said = queue.sweep(most)
    assert queue.submitted == [*sizes, after(last)]
    assert f"job {41 + len(sizes)} submits them when others have ended" in said


def test_a_queue_without_room_for_a_job_beside_the_one_that_follows_on_is_left_to_resume(
    queue: Queue,
) -> None:
    said = queue.sweep(2)
    assert queue.submitted == ["--array=0-1"]
    assert "limits.max_submit_jobs of the site file: 2 of 2 jobs" in said
    assert "no job follows on: it takes places of its own, and a limit of 3 jobs at least" in said
    assert "submit them when others have ended: hpcbench resume study --missing" in said


def test_a_queue_that_others_fill_is_told_as_it_is(queue: Queue) -> None:
    queue.squeue = f"case \"$*\" in *--name=*) ;; *) for n in 1 2 3; do echo '{os.getuid()}|PENDING'; done;; esac"
    said = queue.sweep(3)
    assert queue.submitted == ["--begin=now+10minutes"]
    assert "20 jobs of study did not fit into the queue" in said
    assert "3 of 3 jobs" in said


def test_a_job_that_follows_on_and_is_refused_is_told_with_what_to_do(queue: Queue) -> None:
    said = queue.sweep(10, REFUSED.format("invalid constraint") + COUNTED, expect=2)
    assert queue.submitted == ["--array=0-8", after([6, 7, 8])]
    assert "sbatch refused the job that submits the rest: invalid constraint" in said
    assert "hpcbench resume study --missing" in said


def test_a_job_that_follows_on_and_finds_no_place_for_another_looks_again_itself(queue: Queue) -> None:
    full = REFUSED.format("QOSMaxSubmitJobPerUserLimit")
    queue.squeue += "echo 'study.follow-on|50|N/A|RUNNING|None|n1'"
    queue.variables = {"SLURM_JOB_ID": "50"}
    said = queue.sweep(10, full + COUNTED)
    assert "requeue\n50\n" in (queue.folder / "scontrol.called").read_text()
    assert "job 50 submits them when others have ended" in said


def test_what_stops_it_half_way_is_followed_by_how_to_go_on(queue: Queue) -> None:
    said = queue.sweep(20, "echo 'sbatch: error: Unable to contact slurm controller' >&2; exit 1", expect=2)
    assert "Unable to contact slurm controller" in said
    assert said.count("hpcbench resume study") == 1
