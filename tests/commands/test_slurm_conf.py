"""The slurm.conf of the site file: each Slurm command uses it, also later, in a shell without SLURM_CONF."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ASKED = 'echo "$SLURM_CONF" >> asked'
UP = f"""{ASKED}
case "$*" in
ping) echo 'Slurmctld(primary) at head is UP';;
*config*) echo 'ClusterName = here';;
*'show job'*) echo 'Invalid job id specified' >&2; exit 1;;
esac"""
PROGRAM = {"framework": "command", "command": "true", "model": None, "model_options": {}}


@pytest.fixture
def conf(tmp_path: Path) -> str:
    (tmp_path / "own.conf").touch()
    return str(tmp_path / "own.conf")


@pytest.fixture
def slurm(invoke, fake_commands, conf):
    """The site `here`, whose slurm.conf is `conf`; each fake Slurm command notes the SLURM_CONF that it has."""
    commands = ("sbatch", "squeue", "srun", "scancel", "sacct", "sinfo", "sacctmgr")
    answers = {"sbatch": f"{ASKED}; env | grep ^SLURM_CONF >> exported; echo 42"}
    folder = fake_commands(scontrol=UP, **{name: answers.get(name, ASKED) for name in commands})
    (folder / "grep").symlink_to("/bin/grep")
    invoke.environment = {"PATH": str(folder)}
    invoke.site(scheduler="slurm", slurm_conf=conf, limits={"record_delay_s": 0})
    return invoke


def asked(slurm) -> set[str]:
    """The SLURM_CONF of the Slurm commands since the last call."""
    file = Path(slurm.environment["PATH"], "asked")
    found = set(file.read_text().splitlines()) if file.exists() else set()
    file.unlink(missing_ok=True)
    return found


def sweep(slurm, name: str = "study", **more: str) -> None:
    slurm("sweep", slurm.experiment(parameters=PROGRAM), "--site", "here-site.yaml", "--name", name, env=more)


@pytest.mark.parametrize("shell", [{}, {"SLURM_CONF": "/etc/slurm/other.conf"}], ids=["unset", "other"])
def test_each_command_uses_the_slurm_conf_of_the_site_with_fake_slurm_commands(slurm, conf, shell):
    sweep(slurm, **shell)
    assert asked(slurm) == {conf}
    assert Path(slurm.environment["PATH"], "exported").read_text() == f"SLURM_CONF={conf}\n"
    for words in ("status", "status --json", "resume study", "report", "archive study", "cancel study"):
        slurm(*words.split(), env=shell, expect=None)
        assert asked(slurm) == {conf}, words
    slurm("sweep", "--from", "study", "--name", "again", env=shell)
    assert asked(slurm) == {conf}
    done = slurm("doctor", "--site", "here-site.yaml", "--on-node", "--partition", "none", env=shell, expect=2)
    assert "partition 'none' not found" in done.stderr
    assert asked(slurm) == {conf}


def test_without_slurm_conf_in_the_site_the_one_of_the_shell_stays_with_fake_slurm_commands(slurm):
    slurm.site(scheduler="slurm")
    sweep(slurm, SLURM_CONF="/etc/slurm/other.conf")
    assert asked(slurm) == {"/etc/slurm/other.conf"}
    slurm("status")
    assert asked(slurm) == {""}


def test_two_sweeps_of_two_clusters_are_each_asked_at_their_own_with_fake_slurm_commands(slurm, conf, tmp_path):
    sweep(slurm, "first")
    other = tmp_path / "other.conf"
    other.touch()
    slurm.site(scheduler="slurm", slurm_conf=str(other))
    sweep(slurm, "second")
    asked(slurm)
    slurm("compare", "first", "second", expect=None)
    assert asked(slurm) == {conf, str(other)}


def test_a_differing_slurm_conf_of_the_shell_has_no_effect_and_a_note_with_fake_slurm_commands(slurm, conf):
    experiment = slurm.experiment(parameters=PROGRAM)
    command = ("sweep", experiment, "--site", "here-site.yaml", "--dry-run")
    said = slurm(*command, env={"SLURM_CONF": "/etc/slurm/other.conf"}).stderr
    assert f"SLURM_CONF=/etc/slurm/other.conf has no effect: the site file sets slurm_conf: {conf}" in said
    assert "SLURM_CONF" not in slurm(*command, env={"SLURM_CONF": conf}).stderr
    assert "SLURM_CONF" not in slurm(*command).stderr


def test_nothing_is_submitted_if_the_slurm_conf_is_missing_with_fake_slurm_commands(slurm, conf):
    Path(conf).unlink()
    experiment = slurm.experiment(parameters=PROGRAM)
    done = slurm("sweep", experiment, "--site", "here-site.yaml", expect=2)
    assert f"slurm.conf not found\n  --> {conf}" in done.stderr
    assert "make cluster" in done.stderr
    assert not (slurm.workspace / "jobs").exists()


def test_nothing_is_created_if_no_slurm_conf_is_found_with_fake_slurm_commands(slurm, fake_commands):
    said = "scontrol: error: fetch_config: DNS SRV lookup failed"
    fake_commands(scontrol=f"echo '{said}' >&2; exit 1")
    slurm.site(scheduler="slurm")
    done = slurm("sweep", slurm.experiment(parameters=PROGRAM), "--site", "here-site.yaml", expect=2)
    assert f"scontrol found no slurm.conf: {said}" in done.stderr
    assert "hint: nothing was submitted; write the path of the cluster's slurm.conf as `slurm_conf:`" in done.stderr
    assert "hpcbench resume" not in done.stderr
    assert not (slurm.workspace / "jobs").exists()


@pytest.mark.parametrize(
    ("sites", "warns"),
    [
        ({"big": "{name: big, scheduler: slurm}"}, True),
        ({"big": "{name: big, scheduler: slurm}", "mine": "{name: mine, scheduler: local}"}, False),
        ({"big": "{name: big"}, False),
        ({}, False),
    ],
    ids=["slurm", "both", "invalid", "none"],
)
def test_a_run_on_this_machine_warns_if_the_workspace_is_for_a_cluster(invoke, sites, warns):
    folder = invoke.workspace / "configs" / "sites"
    folder.mkdir(parents=True)
    for name, text in sites.items():
        (folder / f"{name}.yaml").write_text(text)
    said = invoke("run", "--dry-run", "--", "hostname", env={"PATH": "/nowhere"}).stderr
    warning = "Slurm is not configured in this shell, so this machine is used; to use the site of "
    assert (f"warning: {warning}{folder / 'big.yaml'}: --site big" in said) == warns
    assert "warning" not in invoke("run", "--local", "--dry-run", "--", "hostname", env={"PATH": "/nowhere"}).stderr


def test_a_manual_sbatch_names_the_slurm_conf_with_fake_slurm_commands(slurm, conf):
    sweep(slurm)
    case = json.loads((slurm.workspace / "jobs/study/job-001.jsonl").read_text())["case_id"]
    assert f"SLURM_CONF={conf} sbatch --array=0 jobs/study/job-001.sh" in slurm("show", case, expect=None).stdout
