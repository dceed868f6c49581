"""A cluster that only the site file names: no variable of the shell selects its Slurm."""

from __future__ import annotations

import pytest

from tests.cluster.conftest import PROGRAM


@pytest.fixture
def new_shell(bare_cluster, plain_cluster):
    """The command line in processes of its own, without SLURM_CONF; the site file names the slurm.conf."""
    conf = plain_cluster["SLURM_CONF"]
    bare_cluster.site("own", scheduler="slurm", slurm_conf=conf)
    bare_cluster.environment = {}
    bare_cluster.within = ["env", "--unset=SLURM_CONF", "--unset=HPCBENCH_SITE"]
    return bare_cluster


def test_each_command_reaches_the_cluster_of_the_site_in_a_new_shell(new_shell, wait_until):
    new_shell("sweep", new_shell.experiment("done", parameters=PROGRAM), "--site", "own-site.yaml", "--wait")
    assert new_shell.states() == {"completed": 1}
    parameters = {**PROGRAM, "command": "sleep 600"}
    new_shell("sweep", new_shell.experiment("long", parameters=parameters), "--site", "own-site.yaml")
    wait_until(lambda: new_shell.states() == {"running": 1})
    assert "0 runs to resume" in new_shell("resume", "long").stderr
    assert "1 of 1 runs has not ended" in new_shell("report", "long", expect=None).stderr
    assert "cancelled 1 run" in new_shell("cancel", "long").stderr
    wait_until(lambda: new_shell.states("long") == {"cancelled": 1})
    said = new_shell("doctor", "--site", "own-site.yaml", "--on-node", "--partition", "none", expect=2).stderr
    assert "partition 'none' not found" in said, "it asked this Slurm for its partitions"
