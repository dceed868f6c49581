"""Energy by Slurm's accounting, with fake Slurm commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hpcbench.submit.slurm_energy import SlurmEnergy, energy_of

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
    found = energy_of([("7", index) for index in range(5)], exclusive=True)
    assert found["7", 0] == SlurmEnergy(4100)
    for index in (1, 2, 3, 4):
        assert found["7", index].joules is None
        assert "no AcctGatherEnergyType" in (found["7", index].reason or "")
    assert "--jobs=7" in (folder / "sacct.called").read_text().splitlines()


def test_a_shared_node_has_no_energy_of_ours_with_fake_slurm_commands(fake_commands: Fake) -> None:
    folder = fake_commands(sacct="exit 1")
    assert energy_of([("7", 0)], exclusive=False)["7", 0].reason == (
        "Slurm counts whole nodes: ask for `exclusive: true`"
    )
    assert not (folder / "sacct.called").exists()


def test_a_site_without_accounting_has_none_with_fake_slurm_commands(fake_commands: Fake) -> None:
    fake_commands(sacct="echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert energy_of([("7", 0)], exclusive=True)["7", 0].joules is None
    assert energy_of([], exclusive=True) == {}
