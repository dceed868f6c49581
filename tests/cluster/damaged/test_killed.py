"""SIGKILL of hpcbench at any moment: nothing is lost, and nothing is submitted twice."""

from __future__ import annotations

import sys

import pytest

from tests.cluster.damaged.killed import play, slow_sbatch


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
def test_resume_after_any_number_of_kills_leaves_one_record_of_each_repetition(cluster, tmp_path, kills, capsys):
    tally = play(cluster, kills, seed=kills, path=slow_sbatch(tmp_path / "slow"))
    with capsys.disabled():
        sys.stdout.write(f"\n{tally}\n")
    assert (tally.lost, tally.double, tally.hung) == (0, 0, 0), tally.details
