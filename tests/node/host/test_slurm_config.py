"""Slurm's configuration as a node sees it, with a made-up scontrol."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.node.host import slurm_config

IN_A_JOB = {"SLURM_JOB_ID": "7"}
CONFIG = """Configuration data as of 2026-11-22T07:00:00
AccountingStoragePass   = hunter22
MaxArraySize            = 1001
NEXT_JOB_ID             = 12
SLURM_VERSION           = 22.05.8

Slurmctld(primary) at n0 is UP
"""
Fake = Callable[..., Path]


def test_outside_of_a_job_nothing_is_asked(fake_commands: Fake) -> None:
    folder = fake_commands(scontrol="exit 1")
    assert slurm_config.query("n1", {}) == (None, None, "not a Slurm job")
    assert not (folder / "scontrol.called").exists()


def test_a_node_without_scontrol_says_so(fake_commands: Fake) -> None:
    fake_commands()
    assert slurm_config.query("n1", IN_A_JOB).reason == "scontrol not found on this node"


def test_it_tells_the_configuration_without_secrets_and_the_node_with_a_made_up_scontrol(fake_commands: Fake) -> None:
    folder = fake_commands(scontrol='case $2 in config) cat config ;; *) echo "NodeName=$3 CPUTot=4" ;; esac')
    (folder / "config").write_text(CONFIG)
    reply = slurm_config.query("n1", IN_A_JOB)
    assert reply.config is not None
    assert "MaxArraySize            = 1001" in reply.config
    assert "hunter22" not in reply.config
    assert reply.node == "NodeName=n1 CPUTot=4\n"
    assert reply.reason is None
    (folder / "config").write_text(CONFIG.replace("07:00", "08:00").replace("= 12", "= 99"))
    assert slurm_config.query("n1", IN_A_JOB).config == reply.config, "what changes by itself is left out"


def test_a_controller_that_is_down_is_a_reason_with_a_made_up_scontrol(fake_commands: Fake) -> None:
    fake_commands(scontrol="echo 'slurm_load_ctl_conf error: Unable to contact slurm controller' >&2; exit 1")
    reply = slurm_config.query("n1", IN_A_JOB)
    assert reply == (None, None, "scontrol show config: slurm_load_ctl_conf error: Unable to contact slurm controller")


def test_one_that_does_not_answer_is_not_waited_for_with_a_made_up_scontrol(
    fake_commands: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_config, "TIMEOUT_S", 0.3)
    fake_commands(scontrol="exec sleep 5")
    assert slurm_config.query("n1", IN_A_JOB).reason == "scontrol show config did not respond within 0.3 s"
