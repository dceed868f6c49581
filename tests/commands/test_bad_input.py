"""A user's mistake gets a message that says what, where and what to do: exit 2, no traceback, nothing written."""

from __future__ import annotations

import os

import pytest

from hpcbench import cli
from hpcbench.util.package_data import shipped

MISTAKES = {
    "unknown key": ({"mesure": {}}, ["unknown key 'mesure'", "did you mean 'measure'?"]),
    "unknown parameter": ({"parameters": {"batchsize": 1}}, ["unknown parameter 'batchsize'", "'batch_size'"]),
    "negative nodes": ({"parameters": {"nodes": -1}}, ["parameters.nodes", "greater than or equal to 1"]),
    "wrong type": ({"parameters": {"batch_size": "many"}}, ["parameters.batch_size", "valid integer"]),
    "undefined name": ({"parameters": {"batch_size": "{{ nods }}"}}, ["'nods' is not defined", "'nodes'"]),
    "circle": (
        {"parameters": {"nodes": "{{ batch_size }}", "batch_size": "{{ nodes }}"}},
        ["circular: ", "batch_size", "nodes"],
    ),
    "name with slash": ({"name": "a/b"}, ["name", "'a/b' is not valid"]),
    "name with dots": ({"name": "a..b"}, ["name", "no '..'"]),
    "empty matrix": ({"matrix": {}}, ["matrix", "no axes"]),
    "empty axis": ({"matrix": {"nodes": []}}, ["matrix.nodes", "no values"]),
    "huge matrix": ({"matrix": {"seed": {"range": [1, 1000]}, "batch_size": {"range": [1, 1000]}}}, ["--yes"]),
    "all excluded": ({"matrix": {"nodes": [1]}, "exclude": [{"nodes": 1}]}, ["all points of the matrix are excluded"]),
    "shell in an option": ({"slurm": {"partition": "$(reboot)"}}, ["slurm.partition", "cannot contain"]),
    "newline in an option": ({"slurm": {"account": "a\nb"}}, ["slurm.account", "cannot contain"]),
    "newline in an extra option": ({"slurm": {"options": {"comment": "a\n#SBATCH -n9"}}}, ["cannot contain"]),
    "unknown environment": ({"parameters": {"environment": "mine"}}, ["environment 'mine' not found"]),
    "pattern without a number": (
        {"metrics": {"rate": {"regex": "rate: .*"}}},
        ["metrics.rate.regex", "needs a group for the number"],
    ),
    "broken pattern": ({"expect": ["("]}, ["expect[0]", "not a regular expression"]),
    "metrics of a network": ({"metrics": {"rate": {"csv": "rate"}}}, ["metrics", "framework: command"]),
    "command of a network": ({"parameters": {"command": "./bench"}}, ["not pytorch"]),
    "schedule that is not there": (
        {"parameters": {"threads": "dynamic", "schedule": "nowhere.json"}},
        ["parameters.schedule", "'nowhere.json' not found in the workspace", "hpcbench tune"],
    ),
    "unknown framework": ({"parameters": {"framework": "tensorflw"}}, ["unknown framework 'tensorflw'"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_an_experiment_is_explained(invoke, mistake):
    sections, words = MISTAKES[mistake]
    done = invoke("sweep", invoke.experiment(**sections), "--local", expect=2)
    for word in words:
        assert word in done.stderr
    assert "trial.yaml" in done.stderr or mistake == "unknown environment"
    assert not (invoke.workspace / "jobs").exists()


FILES = {
    "duplicate key": ("name: a\nname: b\n", ["bad.yaml:2", "duplicate key"]),
    "tab": ("name: a\nmatrix:\n\tnodes: [1]\n", ["bad.yaml:3", "tabs"]),
    "alias bomb": (
        "name: a\na: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{n}: &{n} [{','.join([f'*{p}'] * 9)}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)),
        ["aliases are expanded"],
    ),
    "deep nesting": ("name: " + "[" * 20_000, ["bad.yaml"]),
    "no mapping": ("- a\n", ["must be a mapping"]),
    "empty": ("", ["empty"]),
    "tag": ("name: !!python/object/apply:os.system [reboot]\n", ["not allowed"]),
    "expression without quotes": ("name: a\nparameters: {nodes: {{ x }}}\n", ["needs quotes"]),
}


BOMB = pytest.param("alias bomb", marks=pytest.mark.integration)  # seconds until it is too large


@pytest.mark.parametrize("mistake", [BOMB if name == "alias bomb" else name for name in FILES])
def test_a_file_that_is_no_experiment_is_explained(invoke, mistake):
    text, words = FILES[mistake]
    (invoke.workspace / "bad.yaml").write_text(text)
    done = invoke("sweep", "bad.yaml", "--local", expect=2)
    for word in words:
        assert word in done.stderr


COMMANDS = {
    "no such file": (["sweep", "nothing.yaml"], ["'nothing.yaml' not found"]),
    "no such experiment": (["sweep", "quickstrt"], ["did you mean 'quickstart'?"]),
    "the beginning of several": (["sweep", "framework"], ["did you mean one of frameworks, frameworks-scaling?"]),
    "other capitals": (["sweep", "Frameworks"], ["did you mean 'frameworks'?"]),
    "the beginning of one": (["sweep", "lstm-t"], ["did you mean 'lstm-threads'?"]),
    "no such command": (["swep"], ["did you mean 'sweep'?"]),
    "no such site": (["sweep", "quickstart", "--site", "labtop"], ["did you mean 'laptop'?"]),
    "an empty site": (["sweep", "quickstart", "--site", ""], ["--site: the name is empty", "name a site"]),
    "no sweep yet": (["report"], ["no sweep found in this workspace"]),
    "bad setting": (["sweep", "quickstart", "--set", "nodes"], ["KEY=VALUE"]),
    "bad sweep name": (["sweep", "quickstart", "--local", "--name", "../up"], ["--name: '../up' is not a valid name"]),
    "no such workspace": (["-C", "nowhere", "status"], ["nowhere' not found"]),
    "unknown option": (["sweep", "quickstart", "--locl"], ["--local"]),
}


@pytest.mark.parametrize("mistake", COMMANDS)
def test_a_mistake_on_the_command_line_is_explained(invoke, mistake):
    arguments, words = COMMANDS[mistake]
    done = invoke(*arguments, expect=2)
    for word in words:
        assert word in done.stderr


def test_a_file_without_its_ending_is_asked_for(invoke):
    (invoke.workspace / "mine.yaml").write_text("name: mine\n")
    assert "did you mean the file mine.yaml?" in invoke("sweep", "mine", expect=2).stderr


def test_a_python_that_does_not_exist_is_found_before_anything_is_written(invoke):
    site = invoke.site(environments={"pytorch": {"python": "/no/such/python"}})
    done = invoke("sweep", invoke.experiment(), "--site", site, expect=2)
    assert "/no/such/python" in done.stderr
    assert not list(invoke.workspace.glob("jobs/*"))


def test_a_misspelt_environment_in_the_site_file_is_refused(invoke):
    site = invoke.site(environments={"pytroch": {"modules": ["pytorch"]}})
    done = invoke("sweep", invoke.experiment(), "--site", site, "--dry-run", expect=2)
    assert "error: unknown environment 'pytroch'\n  --> here-site.yaml:1: environments.pytroch\n" in done.stderr
    assert "did you mean 'pytorch'?" in done.stderr


def test_a_partition_that_the_site_does_not_have_is_refused(invoke):
    site = invoke.site(scheduler="slurm", partitions={"main": {}})
    experiment = invoke.experiment(slurm={"partition": "mian"})
    done = invoke("sweep", experiment, "--site", site, "--dry-run", expect=2)
    assert "did you mean 'main'?" in done.stderr


def test_a_wrong_partition_of_the_site_file_is_blamed_on_the_site_file(invoke):
    site = invoke.site(scheduler="slurm", partitions={"main": {}}, slurm={"partition": "mian"})
    done = invoke("sweep", invoke.experiment(), "--site", site, "--dry-run", expect=2)
    assert "site file of 'here': slurm.partition" in done.stderr
    assert "trial.yaml" not in done.stderr


def test_a_wrong_partition_of_the_shell_is_blamed_on_its_variable(invoke, monkeypatch):
    monkeypatch.setenv("SBATCH_PARTITION", "mian")
    site = invoke.site(scheduler="slurm", partitions={"main": {}})
    done = invoke("sweep", invoke.experiment(), "--site", site, "--dry-run", expect=2)
    assert "SBATCH_PARTITION in the shell" in done.stderr
    assert "did you mean 'main'?" in done.stderr
    assert "site file of" not in done.stderr


def test_a_refusal_names_the_variable_of_the_shell_that_the_script_has_with_fake_slurm_commands(invoke, fake_commands):
    sbatch = "echo 'sbatch: error: Invalid account or account/partition combination specified' >&2; exit 1"
    commands = fake_commands(sbatch=sbatch, squeue="", srun="", scancel="")
    shell = {"SBATCH_ACCOUNT": "lba", "SBATCH_QOS": "long", "PATH": str(commands)}
    experiment = invoke.experiment(slurm={"qos": "short", "time": "0:01:00"})
    site = invoke.site(scheduler="slurm")
    done = invoke("sweep", experiment, "--site", site, "--name", "study", expect=2, env=shell)
    said = " ".join(done.stderr.split())
    assert "sbatch refused job-001: Invalid account" in said
    assert "unset or correct SBATCH_ACCOUNT=lba in the shell, or correct the experiment or the site file" in said
    assert "start a new sweep; hpcbench resume study would submit the same script" in said
    again = invoke("resume", "study", expect=2, env={"PATH": str(commands)})
    assert "SBATCH_ACCOUNT=lba" in again.stderr


def test_submitting_where_there_is_no_slurm_says_so(invoke):
    site = invoke.site(scheduler="slurm")
    done = invoke("sweep", invoke.experiment(), "--site", site, expect=2, env={"PATH": "/nowhere"})
    assert "sbatch not found" in done.stderr
    assert not (invoke.workspace / "jobs").exists()


@pytest.mark.parametrize("variables", [{"SLURM_CONF": "/etc/slurm/slurm.conf"}, {}], ids=["named", "elsewhere"])
def test_nothing_runs_on_a_login_node_whose_controller_is_down_with_a_fake_scontrol(invoke, tmp_path, variables):
    """Only Slurm's commands may know where their slurm.conf is."""
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.parent.mkdir()
    scontrol.write_text("#!/bin/sh\necho 'Slurmctld(primary) at head is DOWN'\nexit 1\n")
    scontrol.chmod(0o755)
    env = {"PATH": f"{scontrol.parent}:{os.environ['PATH']}", **variables}
    done = invoke("sweep", invoke.experiment(), expect=2, env=env)
    assert "Slurm is configured on this host, but not responding: Slurmctld(primary) at head is DOWN" in done.stderr
    assert "--local" in done.stderr
    assert not (invoke.workspace / "results").exists()


def test_init_adds_the_site_file_when_slurm_responds_again_with_fake_slurm_commands(invoke, fake_commands, tmp_path):
    silent = {"PATH": str(fake_commands(scontrol="echo 'Slurmctld(primary) at head is DOWN'; exit 1"))}
    folder = str(tmp_path / "my study")
    said = " ".join(invoke("init", folder, expect=2, env=silent).stderr.split())
    assert f"no site file was written; run `hpcbench init '{folder}'` again when Slurm responds" in said
    assert "--local" not in said
    up = "case $1 in ping) echo 'Slurmctld(primary) at head is UP';; *) echo 'ClusterName = big';; esac"
    invoke("init", folder, env={"PATH": str(fake_commands(scontrol=up))})
    assert (tmp_path / "my study" / "configs" / "sites" / "big.yaml").is_file()


@pytest.mark.parametrize("option", ["--dry-run", "--show-script"])
def test_dry_run_writes_nothing_and_shows_cases_hours_and_a_script(invoke, option):
    axes = {"parameters": {"cpus_per_task": 2}, "matrix": {"intra_op_threads": [1, 2]}}
    experiment = invoke.experiment(**axes, measure={"repetitions": 3})
    (invoke.workspace / "far.yaml").write_text("name: far\nscheduler: slurm\n")
    shown = invoke("sweep", experiment, "--site", "far.yaml", option).stdout
    for word in ("2 cases", "job-001", "0.20 node-hours", "longest time limit is 0:02:00"):
        assert word in shown
    assert ("#!/bin/bash" in shown) == (option == "--show-script")
    assert "node-hours" not in invoke("sweep", experiment, "--local", option).stdout
    assert not (invoke.workspace / "jobs").exists()


def test_every_shipped_experiment_plans_on_every_shipped_site(command_line):
    experiments = [path.stem for path in (shipped("configs") / "experiments").glob("*.yaml")]
    sites = [path.stem for path in (shipped("configs") / "sites").glob("*.yaml")]
    assert {"quickstart", "lstm-threads"} <= set(experiments)
    assert {"laptop", "local-slurm"} <= set(sites)
    for experiment in experiments:
        for site in sites:
            python = {} if site in ("laptop", "local-slurm") else {"HOME": str(command_line.workspace)}
            command_line("sweep", experiment, "--site", site, "--dry-run", env=python)


def test_help_of_every_command_has_examples(command_line):
    for command in cli.FOLDERS:
        output, errors = command_line.start(command, "--help").communicate(timeout=60)
        assert "Examples:" in output, errors


def test_completion_code_is_made_for_every_shell(invoke):
    for shell in ("bash", "zsh", "fish"):
        assert "_HPCBENCH_COMPLETE" in invoke("completion", shell).stdout


def test_init_keeps_what_is_there(invoke):
    (invoke.workspace / ".gitignore").write_text("mine\n")
    invoke("init", env={"PATH": "/nowhere"})
    assert (invoke.workspace / ".gitignore").read_text() == "mine\n"
    assert [path.name for path in invoke.workspace.glob("configs/sites/*")] == ["laptop.yaml"]
