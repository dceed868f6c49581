"""Energy by Slurm's accounting, with fake Slurm commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hpcbench.slurm.job_energy import energy_of

Fake = Callable[..., Path]
NO_VAL64 = 2**64 - 2


def says(*lines: str) -> str:
    return "\n".join(f"echo '{line}'" for line in lines)


def test_the_step_that_saw_most_of_a_repetition_counts_with_fake_slurm_commands(fake_commands: Fake) -> None:
    folder = fake_commands(
        sacct=says(
            "7_0|9000", "7_0.batch|9000", "7_0.extern|9000", "7_0.0|4100", "7_0.1|4000", "7_1.0|0", f"7_2.0|{NO_VAL64}",
            "7_3.0|", "7_[4-9]|", "8.0|77",
        )
    )  # fmt: skip
    assert energy_of([("7", index) for index in range(5)], None) == {("7", 0): 4100}
    assert "--jobs=7" in (folder / "sacct.called").read_text().splitlines()


def test_what_a_wrapper_prints_is_left_out_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(sacct=says("Welcome to the cluster", "7_0.0|4100"))
    assert energy_of([("7", 0)], None) == {("7", 0): 4100}


def test_a_site_without_accounting_has_none_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(sacct="echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert energy_of([("7", 0)], None) == {}
    assert energy_of([], None) == {}
