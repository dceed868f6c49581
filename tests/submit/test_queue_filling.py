"""When the job starts that submits what did not fit into the queue."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.store.journal import Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.queue_filling import Left, follow
from hpcbench.submit.slurm_executor import Array

LEFT = Left((Array("job-001", ((0,),)),), "three jobs", follows=True)
OURS = ("study-1.job-001|7|0|COMPLETING|None|n1", "study-1.job-001|7|1|RUNNING|None|n1")
OTHERS = (f"{os.getuid()}|PENDING",) * 2
CASES = {
    "the last of ours": (OURS, OTHERS, ["--dependency=afterany:7_0?afterany:7_1"]),
    "others": ((), OTHERS, ["--begin=now+10minutes"]),
    "ours, which have ended since the limits were read": ((), OTHERS[:1], []),
}


@pytest.mark.parametrize(("ours", "mine", "start"), CASES.values(), ids=CASES)
def test_it_starts_when_those_have_ended_who_fill_the_queue_with_fake_slurm_commands(
    ours: tuple[str, ...],
    mine: tuple[str, ...],
    start: list[str],
    fake_commands: Callable[..., Path],
    make_sweep: Callable[..., Sweep],
) -> None:
    lines = {"of the sweep": "\n".join(ours), "of the user": "\n".join(mine)}
    squeue = f"""case "$*" in *--name=*) cat <<'END'\n{lines["of the sweep"]}\nEND\n;;
    *) cat <<'END'\n{lines["of the user"]}\nEND\n;; esac"""
    folder = fake_commands(squeue=squeue, sbatch="echo 9", scontrol="exit 0", srun="exit 0", scancel="exit 0")
    sweep = make_sweep("slurm: {follow_on: true}", site="{}\nlimits: {max_submit_jobs: 3}")
    journal = Journal(sweep.paths)
    with locked(sweep.paths.jobs) as lease:
        assert follow(sweep, Workspace(sweep.paths.jobs.parents[1]), LEFT, journal, lease) == "9"
    said = (folder / "sbatch.called").read_text().split()
    assert [word for word in said if word.startswith(("--dependency", "--begin"))] == start
