"""What a dry run shows of a plan, without the command line around it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from hpcbench.config.experiment import load_experiment
from hpcbench.config.site import load_site
from hpcbench.config.yaml_document import parse_yaml
from hpcbench.plan.plan import make_plan
from hpcbench.report.terminal import dry_run
from hpcbench.store.workspace import Workspace
from hpcbench.submit.create_sweep import resolved
from hpcbench.util.console import out

SITE = f"name: c\nscheduler: slurm\nenvironments: {{pytorch: {{python: {sys.executable}}}}}\n"
FOLLOW_ON = "#!/bin/bash\ntouch {{ sweep }}\n"


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """What is printed of an experiment of commands on a cluster."""

    def show(text: str, width: int = 200) -> str:
        monkeypatch.setattr(out, "width", width)
        document = parse_yaml(f"name: trial\n{text}", "trial.yaml")
        plan = make_plan(load_experiment(document), document, load_site(parse_yaml(SITE, "c")))
        workspace = Workspace(tmp_path)
        dry_run.show(plan, workspace, workspace.paths("trial"), resolved(plan, workspace), with_script=True)
        return capsys.readouterr().out

    return show


def test_a_command_that_all_cases_share_is_shown_with_all_of_its_lines(shown) -> None:
    said = shown('parameters: {framework: command, command: "true\\ntouch pwned [bold]"}\nmatrix: {seed: [1, 2]}\n')
    assert "1 command\ntrue\ntouch pwned [bold]\n" in said


def test_each_command_is_shown_and_how_many_more_there_are(shown) -> None:
    said = shown('parameters: {framework: command, command: "echo {{ seed }}"}\nmatrix: {seed: {range: [1, 25]}}\n')
    assert "25 commands\necho 1\n" in said
    assert "\necho 20\n... and 5 more\n" in said


def test_nothing_is_said_of_commands_where_there_are_none(shown) -> None:
    assert "command\n" not in shown("parameters: {framework: pytorch, model: mlp}\n")


def test_an_option_that_is_an_axis_of_its_own_is_in_one_column(shown) -> None:
    options = "model_options: [{layers: 3}], model_options.hidden_size: [16]"
    said = shown(f"parameters: {{framework: pytorch, model: lstm}}\nmatrix: {{{options}}}\n")
    assert re.search(r'c\w{12} +\{"layers": 3\} +16\n', said)


def test_parameters_that_do_not_apply_to_a_task_are_left_out(shown) -> None:
    operator = "{task: operator, operator: gemm, phase: [forward, both]}"
    networks = "{task: [inference, training], model: mlp, batch_size: [8, 16], optimizer: adam}"
    lines = shown(f"parameters: {{framework: pytorch}}\ninclude: [{operator}, {networks}]\n").splitlines()
    (header,) = (line.split() for line in lines if line.startswith("case "))
    rows = [line.split()[1:] for line in lines if re.match(r"c\w{12} ", line)]
    assert "max_epochs" not in header
    assert ["operator", "gemm", "both"] in rows
    assert any(row[0] == "inference" and "adam" not in row and "forward" not in row for row in rows)


@pytest.mark.parametrize("width", [80, 100, 160])
def test_cases_with_many_parameters_are_told_apart_at_any_width(shown, width: int) -> None:
    sizes = (
        "w: 700, h: 161, c_in: 16, c_out: 320, filter_w: 20, filter_h: 5, pad_w: 0, pad_h: 0, stride_w: 2, stride_h: 2"
    )
    axes = ", ".join(f"sizes.{each.replace(': ', ': [')}]" for each in sizes.split(", "))
    operator = f"{{task: operator, operator: conv2d, {axes}, sizes.n: [4, 8]}}"
    networks = "{task: training, model: lstm, model_options: [{hidden_size: 64, sequence_length: 16}], optimizer: adam}"
    said = shown(f"parameters: {{framework: pytorch}}\ninclude: [{operator}, {networks}]\n", width)
    said, _ = re.split(r"\n\d+ jobs in", said)
    assert "…" not in said
    assert max(map(len, said.splitlines())) <= width
    first, second, network = re.split(r"\nc\w{12} +", said)[1:]
    assert first != second
    assert first.replace("n=4", "n=8").split() == second.split()
    assert "filter_w=20" in first
    assert "model_options" not in first
    assert '"sequence_length": 16' in " ".join(network.split())
    assert "filter_w" not in network
    assert "unset" not in network


def test_values_that_all_shown_cases_share_are_in_the_header_of_the_list(shown) -> None:
    command = f"command: 'echo {{{{ long }}}} {{{{ n }}}} {'x' * 60}'"
    said = shown(f"parameters: {{framework: command, {command}}}\nmatrix: {{long: [{'y' * 60}], n: [1, 2]}}\n", 80)
    assert re.search(r"\n +all shown cases: *\ncase +long=y{60} *\n", said)
    assert re.search(r"\nc\w{12}  n=2 ", said)


def test_ones_own_follow_on_is_shown_where_it_may_be_submitted(shown, tmp_path: Path) -> None:
    experiment = "parameters: {framework: command, command: 'true'}\n"
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "follow-on.sh.j2").write_text(FOLLOW_ON)
    assert "follow-on.sh" not in shown(experiment)
    assert "touch trial\n" in shown(experiment + "slurm: {follow_on: true}\n")
    (tmp_path / "templates" / "follow-on.sh.j2").unlink()
    assert "follow-on.sh" not in shown(experiment + "slurm: {follow_on: true}\n"), "the shipped one is no surprise"


def test_a_script_moves_no_cursor(shown, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "job.sh.j2").write_text("\ttouch pwned # \x1b[2K\x1b[1A\n")
    said = shown("parameters: {framework: command, command: 'true'}\n")
    assert "\ttouch pwned # ?[2K?[1A\n" in said
