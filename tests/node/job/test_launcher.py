"""What Slurm says of its version; srun is a fake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.node.job import launcher


@pytest.mark.parametrize(
    ("said", "version", "shares_nodes"),
    [
        ("slurm 22.05.0", (22, 5), True),
        ("slurm-wlm 23.11.10-1", (23, 11), True),
        ("slurm 26.05.1", (26, 5), True),
        ("slurm-wlm 21.08.5", (21, 8), False),
        ("slurm 19.05.5", (19, 5), False),
    ],
)
def test_the_version_of_slurm_is_that_of_srun(
    fake_commands: Callable[..., Path], said: str, version: tuple[int, int], *, shares_nodes: bool
) -> None:
    fake_commands(srun=f"echo {said}")
    assert launcher.slurm_version() == (version, said)
    assert (version >= launcher.SHARES_NODES) == shares_nodes


@pytest.mark.parametrize("said", ["", "srun: error: no configuration"])
def test_a_version_that_is_not_said_is_none(fake_commands: Callable[..., Path], said: str) -> None:
    fake_commands(srun=f"echo {said}")
    assert launcher.slurm_version() == (None, said)


@pytest.mark.usefixtures("fake_commands")
def test_without_srun_there_is_no_version() -> None:
    assert launcher.slurm_version() == (None, "")
