"""A sweep that is run again, from its folder or its archive, by the real command line on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CommandLine

pytestmark = pytest.mark.integration

EXPERIMENT = """# a comment that stays
name: trial
parameters: {framework: command, command: "sleep 0.01; echo {{ batch_size }} {{ note | quote }}", note: first}
user_parameters: [note]
matrix: {batch_size: [1, 2, 3], seed: [1, 2]}
measure: {repetitions: 2, retries: 0, shuffle_seed: 7}
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A workspace with the sweep `one`, of two of its six cases, with a setting: run once, and changed by no test."""
    command_line = CommandLine(tmp_path_factory.mktemp("ended"))
    (command_line.workspace / "trial.yaml").write_text(EXPERIMENT)
    (command_line.workspace / "here.yaml").write_text("name: here\nscheduler: slurm\nslurm: {mem: 1G}\n")
    settings = ("--set", "note=it's $HOME", "--set", "batch_size=4")
    command_line("sweep", "trial.yaml", "--local", "--name", "one", "--site", "here.yaml", *settings, "--limit", "2")
    return command_line


@pytest.fixture
def swept(command_line: CommandLine, ended: CommandLine) -> CommandLine:
    """The command line in a copy of that workspace."""
    shutil.copytree(ended.workspace, command_line.workspace, dirs_exist_ok=True, symlinks=True)
    return command_line


def described(command_line, sweep: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((command_line.workspace / "jobs" / sweep / "sweep.json").read_text())
    return found


def planned(command_line, sweep: str) -> list[dict[str, Any]]:
    files = sorted((command_line.workspace / "jobs" / sweep).glob("job-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_a_sweep_says_how_it_was_asked_for(swept):
    told = described(swept, "one")
    assert told["settings"] == ["note=it's $HOME", "batch_size=4"]
    assert (told["limit"], told["local"], told["from"]) == (2, True, None)
    folder = swept.workspace / "jobs" / "one"
    assert (folder / "experiment.yaml").read_text() == EXPERIMENT
    site = (folder / "site.yaml").read_text()
    assert "name: here\nscheduler: local\nslurm:\n  mem: 1G\n" in site
    packages = json.loads((swept.workspace / "results" / "one" / "environments" / "command.json").read_text())
    assert packages["packages"]["hpcbench-dl"]


def test_it_says_on_what_it_ran_once(swept, ended):
    (node,) = (swept.workspace / "results" / "one" / "nodes").glob("??/*.json")
    told = json.loads(node.read_text())
    assert told["hardware"]["cores"] >= 1
    assert told["mounts"][str(ended.workspace / "jobs" / "one")]["type"]
    before = node.stat()
    swept("resume", "one")
    swept("sweep", "--from", "one", "--name", "two")
    assert node.stat() == before


@pytest.mark.parametrize("source", ["one", "one.tar.gz"])
def test_it_is_the_same_again_whatever_the_workspace_has_now(swept, source: str):
    swept("archive", "one")
    for file in ("trial.yaml", "here.yaml"):
        (swept.workspace / file).unlink()
    done = swept("sweep", "--from", source, "--name", "two", env={"HPCBENCH_SITE": "nowhere"})
    assert "warning" not in done.stderr
    assert planned(swept, "two") == planned(swept, "one"), "case ids, parameters and order"
    first, second = described(swept, "one"), described(swept, "two")
    origin = {"sweep": "one", "created_at": first["created_at"], "archive": source if "." in source else None}
    assert second["from"] == origin
    for name in ("settings", "limit", "local", "site", "experiment", "jobs"):
        assert second[name] == first[name]
    for name in ("experiment.yaml", "site.yaml", "templates/job.sh.j2"):
        folders = (swept.workspace / "jobs" / sweep / name for sweep in ("one", "two"))
        assert len({file.read_text() for file in folders}) == 1
    assert swept.states("two") == {"completed": 4}
    swept("compare", "one", "two", "--on-inconclusive", "pass")


def test_one_that_was_run_again_is_run_again(swept):
    swept("sweep", "--from", "one", "--name", "two")
    swept("sweep", "--from", "two", "--name", "three")
    assert planned(swept, "three") == planned(swept, "one")
    assert described(swept, "three")["from"]["sweep"] == "two"


def test_more_settings_come_after_the_old_ones(swept):
    done = swept("sweep", "--from", "one", "--name", "two", "--set", "batch_size=5", "--limit", "1", "--render-only")
    assert "of its" not in done.stderr, "other cases were requested"
    (case,) = {run["parameters"]["batch_size"] for run in planned(swept, "two")}
    assert case == 5
    assert described(swept, "two")["settings"] == ["note=it's $HOME", "batch_size=4", "batch_size=5"]
    assert described(swept, "two")["limit"] == 1


def test_another_site_may_be_named(swept):
    shown = swept("sweep", "--from", "one", "--site", "laptop", "--name", "two", "--render-only")
    assert shown.stdout
    assert described(swept, "two")["site"]["name"] == "laptop"
    (swept.workspace / "slurm.yaml").write_text("name: other\nscheduler: slurm\n")
    assert "other (slurm)" in swept("sweep", "--from", "one", "--site", "slurm.yaml", "--dry-run").stdout
    shown = swept("sweep", "--from", "one", "--site", "slurm.yaml", "--local", "--dry-run")
    assert "other (local)" in shown.stdout


def test_an_experiment_and_a_sweep_are_one_too_many_and_neither_too_few(swept):
    for arguments in (["trial.yaml", "--from", "one"], []):
        assert "give either EXPERIMENT or --from SWEEP" in swept("sweep", *arguments, expect=2).stderr


def own_template(command_line, remark: str) -> Path:
    file = command_line.workspace / "templates" / "job.sh.j2"
    file.parent.mkdir(exist_ok=True)
    shipped = (command_line.workspace / "jobs" / "one" / "templates" / "job.sh.j2").read_text()
    (file.parent / "head.j2").write_text(f"# {remark}\n")
    start, line, rest = shipped.partition("#!/bin/bash\n")
    file.write_text(f"{start}{line}{{% include 'head.j2' %}}\n{rest}")
    return file


def test_the_sweeps_own_template_wins_and_that_is_said(swept):
    file = own_template(swept, "mine")
    swept("sweep", "--from", "one", "--name", "two")
    assert "# mine" in (swept.workspace / "jobs" / "two" / "job-001.sh").read_text(), "the shipped one is never old"
    file.write_text("{{ nothing }}")
    (file.parent / "head.j2").write_text("# newer")
    done = swept("sweep", "--from", "two", "--name", "three")
    assert "warning: job.sh.j2 of this workspace differs; the template of the sweep is used" in done.stderr
    assert "# mine" in (swept.workspace / "jobs" / "three" / "job-001.sh").read_text()
    swept("archive", "two")
    assert "# mine" in swept("sweep", "--from", "two.tar.gz", "--show-script").stdout


def test_what_differs_now_is_said_before_anything_runs(swept):
    file = swept.workspace / "results" / "one" / "environments" / "command.json"
    told = json.loads(file.read_text())
    told["packages"]["click"] = "1.0"
    del told["packages"]["pandas"]
    file.write_text(json.dumps(told))
    description = described(swept, "one")
    description["hpcbench_version"] = "0.0.1"
    (swept.workspace / "jobs" / "one" / "sweep.json").write_text(json.dumps(description))
    said = swept("sweep", "--from", "one", "--name", "two").stderr
    assert "warning: hpcbench 0.0.1 -> " in said
    assert "warning: environment command: click 1.0 -> " in said
    assert "pandas absent -> " in said
    assert "git" not in said


@pytest.mark.parametrize("option", ["--dry-run", "--render-only"])
def test_nothing_that_a_sweep_names_is_started_where_nothing_is_to_run(swept, option: str):
    python = swept.workspace / "python"
    python.write_text(f"#!/bin/sh\ntouch {swept.workspace}/started\n")
    python.chmod(0o755)
    site = {"name": "here", "scheduler": "local", "environments": {"command": {"python": str(python)}}}
    (swept.workspace / "jobs" / "one" / "site.yaml").write_text(json.dumps(site))
    said = swept("sweep", "--from", "one", option, "--name", "two").stderr
    assert not (swept.workspace / "started").exists()
    assert "warning: packages are not compared" in said


def test_code_for_the_nodes_that_differs_is_said(swept):
    (swept.workspace / "jobs" / "one" / "node.pyz").write_bytes(b"other")
    assert "hpcbench's code for the nodes differs" in swept("sweep", "--from", "one", "--dry-run").stderr


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_another_state_of_the_workspace_in_git_is_said(swept):
    root = swept.workspace
    git(root, "init", "-q")
    git(root, "add", "trial.yaml")
    git(root, "commit", "-qm", "first")
    (root / "trial.yaml").write_text(EXPERIMENT + "# changed, KEY=abcdefgh\n")
    swept("sweep", "--from", "one", "--name", "two")
    diff = (root / "jobs" / "two" / "workspace.diff").read_text()
    assert "+# changed, KEY=[redacted]" in diff
    assert "git commit" not in swept("sweep", "--from", "two", "--dry-run").stderr, "the same changes"
    (root / "trial.yaml").write_text(EXPERIMENT)
    assert "uncommitted changes differ" in swept("sweep", "--from", "two", "--dry-run").stderr
    git(root, "commit", "-qm", "second", "--allow-empty")
    assert "git commit " in swept("sweep", "--from", "two", "--dry-run").stderr


def test_a_sweep_that_does_not_say_enough_is_refused(swept):
    description = described(swept, "one")
    del description["settings"]
    (swept.workspace / "jobs" / "one" / "sweep.json").write_text(json.dumps(description))
    said = swept("sweep", "--from", "one", expect=2).stderr
    assert "the sweep cannot be run again: the options of the sweep are missing or invalid" in said


def test_packages_that_only_a_node_can_tell_are_told_by_the_first_repetition(command_line):
    (command_line.workspace / "trial.yaml").write_text(EXPERIMENT)
    site = command_line.site(environments={"command": {"setup": ["export MINE=1"]}})
    command_line("sweep", "trial.yaml", "--site", site, "--name", "one", "--render-only")
    file = command_line.workspace / "results" / "one" / "environments" / "command.json"
    assert not file.exists()
    command_line("resume", "one")
    told = json.loads(file.read_text())
    assert told["packages"]
    assert told["executable"]
