from __future__ import annotations

import pytest

from hpcbench.config.shell_defaults import with_shell_defaults
from hpcbench.config.site import Site
from hpcbench.errors import UserError

SHELL = {
    "SBATCH_ACCOUNT": "other",
    "SBATCH_PARTITION": "gpu",
    "SBATCH_QOS": "long",
    "SBATCH_TIMELIMIT": "10",
    "SBATCH_WCKEY": "",
    "SBATCH_CLUSTERS": "b",
    "SLURM_ACCOUNT": "another",
}


def site(scheduler: str = "slurm", **slurm: object) -> Site:
    return Site.model_validate({"name": "here", "scheduler": scheduler, "slurm": slurm})


def test_variables_of_sbatch_are_defaults_and_those_without_effect_are_named() -> None:
    found, notes = with_shell_defaults(site(partition="cpu"), SHELL)
    assert (found.slurm.account, found.slurm.partition, found.slurm.qos) == ("other", "cpu", "long")
    assert notes == [
        "SBATCH_ACCOUNT=other is the default of slurm.account",
        "SBATCH_PARTITION=gpu has no effect: the site file sets slurm.partition: cpu",
        "SBATCH_QOS=long is the default of slurm.qos",
        "no effect: SBATCH_TIMELIMIT; set these options under `slurm:`",
    ]


def test_without_slurm_they_have_no_effect_and_no_note() -> None:
    assert with_shell_defaults(site("local"), SHELL) == (site("local"), [])


def test_a_value_that_is_not_safe_in_a_script_is_refused() -> None:
    with pytest.raises(UserError, match="SBATCH_ACCOUNT") as caught:
        with_shell_defaults(site(), {"SBATCH_ACCOUNT": "a\n#SBATCH --wrap=x"})
    assert caught.value.hint == "unset SBATCH_ACCOUNT"
