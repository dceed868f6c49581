"""The files of a new workspace are valid by the schemas in it, which their first lines name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import load_yaml

UP = """case $1 in
ping) echo 'Slurmctld(primary) at head is UP';;
*) printf 'ClusterName = big\\nMaxArraySize = 1001\\n';;
esac"""
SINFO = "echo 'cpu*|1-00:00:00|30|32|128000|gpu:v100:4|1-infinite'"


def check(folder: Path) -> set[str]:
    """Check the YAML files of a workspace by the schemas that they name; return their paths below configs."""
    found = set()
    for file in folder.glob("configs/*/*.yaml"):
        begin, _, path = file.read_text("utf-8").splitlines()[0].partition("=")
        assert begin == "# yaml-language-server: $schema"
        schema = json.loads((file.parent / path).read_text("utf-8"))
        assert list(Draft202012Validator(schema).iter_errors(load_yaml(file).data)) == []
        found.add(str(file.relative_to(folder / "configs")))
    return found


@pytest.mark.parametrize("site", ["laptop", "big"])
def test_init_writes_valid_files_with_fake_slurm_commands(invoke, fake_commands, site):
    path = "/nowhere" if site == "laptop" else str(fake_commands(scontrol=UP, sinfo=SINFO, sacctmgr="exit 1"))
    invoke("init", "study", env={"PATH": path})
    assert {f"sites/{site}.yaml", "experiments/quickstart.yaml"} <= check(invoke.workspace / "study")


@pytest.mark.parametrize(
    ("shell", "written"),
    [
        ({}, None),
        ({"SLURM_CONF": "/opt/own.conf"}, "/opt/own.conf"),
        ({"SLURM_CONF": "own.conf"}, "{here}/own.conf"),
        ({"SLURM_CONF": "/run/copy.conf", "SLURM_JOB_ID": "7"}, None),
    ],
    ids=["unset", "absolute", "relative", "in a job"],
)
def test_init_writes_the_slurm_conf_of_the_shell_with_fake_slurm_commands(
    invoke, fake_commands, monkeypatch, shell, written
):
    path = str(fake_commands(scontrol=UP, sinfo=SINFO, sacctmgr="exit 1"))
    invoke("init", "study", env={"PATH": path, **shell})
    site = load_yaml(invoke.workspace / "study" / "configs" / "sites" / "big.yaml").data
    assert site.get("slurm_conf") == (written and written.format(here=invoke.workspace))


def test_the_example_of_an_environment_is_valid_with_fake_slurm_commands(invoke, fake_commands):
    path = str(fake_commands(scontrol=UP, sinfo=SINFO, sacctmgr="exit 1"))
    invoke("init", "study", env={"PATH": path})
    file = invoke.workspace / "study" / "configs" / "sites" / "big.yaml"
    *_, key, pytorch = file.read_text().splitlines()
    file.write_text(file.read_text() + "\n".join([key.removeprefix("# "), pytorch.removeprefix("# ")]))
    assert load_site(load_yaml(file)).environment("pytorch").modules == ["pytorch/2.13"]


def test_init_replaces_the_schemas_of_another_version_and_nothing_else(invoke):
    schema, own = (invoke.workspace / "configs" / name for name in ("schemas/site.json", "sites/laptop.yaml"))
    for file in (schema, own):
        file.parent.mkdir(parents=True)
        file.write_text("{}")
    said = invoke("init", env={"PATH": "/nowhere"}).stderr
    assert f"wrote {schema.parent}/ (4 files)" in said
    assert f"kept {own}" in said
    assert own.read_text() == "{}"
    assert schema.read_text() == invoke("schema", "site").stdout
    schema.write_text("{}")
    again = invoke("init", env={"PATH": "/nowhere"}).stderr
    assert f"wrote {schema}\n" in again, "and not the other schemas"
    assert again.count("wrote") == 1


def test_init_writes_an_experiment_of_a_command_that_runs(command_line):
    (command_line.workspace / "train.py").write_text("import sys\nprint(sys.argv)\n")
    command = ("--command", "python3 train.py {size}", "-P", "size=1,2")
    done = command_line("init", *command, env={"PATH": "/nowhere"})
    assert "next: hpcbench sweep train --dry-run" in done.stdout
    assert check(command_line.workspace) == {"experiments/train.yaml", "sites/laptop.yaml"}
    done = command_line("sweep", "train", "--set", "measure.repetitions=1", "--set", "measure.retries=0")
    assert "next: hpcbench report train-" in done.stderr
    assert {row["param_size"] for row in command_line.report()} == {"1", "2"}


def test_init_names_what_the_experiment_of_a_command_lacks(invoke, monkeypatch):
    (invoke.workspace / "train.py").touch()
    monkeypatch.chdir(invoke.workspace)
    done = invoke("init", "study", "--command", "python train.py {size}", env={"PATH": "/nowhere"})
    assert "add the values of size in " in done.stdout
    assert "train.py is not in " in done.stderr
    assert "-P requires --command" in invoke("init", "-P", "size=1", expect=2).stderr
