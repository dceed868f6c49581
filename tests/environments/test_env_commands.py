"""hpcbench env list, build and remove as a user calls them."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
from pathlib import Path

import pytest

TINY = {"install": ["tiny==1.0"]}


@pytest.fixture
def cli(bench, command_line, quick_python):
    """The command line in the bench's workspace; `cli.build` builds without the check, which needs a framework."""
    command_line.workspace = bench.workspace.root
    command_line.environment = {"HPCBENCH_SITE": "laptop"}
    command_line.build = lambda *arguments, **options: command_line(
        "env", "build", "--no-check", "--python", quick_python, *arguments, **options
    )
    return command_line


def listed(cli, *arguments):
    return {row["name"]: row for row in json.loads(cli("env", "list", "--json", *arguments).stdout)}


def test_building_tells_its_steps_and_what_came_of_them(cli, bench):
    bench.recipe("demo", TINY)
    told = cli.build("demo").stderr
    making = f"demo 1/3: making {bench.place('demo').folder} with Python 3."
    for line in (making, "demo 2/3: installing tiny==1.0", "demo 3/3: importing tiny"):
        assert line in told
    assert "demo: built in" in told
    assert "tiny 1.0" in told
    assert "already built; --force rebuilds it" in cli.build("demo").stderr
    anew = cli.build("demo", "--force").stderr
    assert f"demo 1/3: removing the earlier {bench.place('demo').folder}" in anew
    assert "demo 2/3: installing" in anew


def test_an_environment_for_no_framework_is_built_and_not_checked(cli, bench, quick_python):
    bench.recipe("tool", TINY)
    told = cli("env", "build", "tool", "--python", quick_python).stderr
    assert "tool: not checked: 'tool' does not begin with the name of a framework" in told


def test_list_shows_every_state(cli, bench):
    for name in ("whole", "old", "half", "absent", "beside"):
        bench.recipe(name, TINY, imports=("json",) if name == "beside" else ("tiny",))
    cli.build("whole", "old")
    bench.recipe("old", TINY, {"install": ["other==1.0"]})
    bench.recipe("half", {"install": ["late==1.0"]})
    cli.build("half", expect=1)
    site = cli.site(environments={"absent": {"modules": ["tiny/1.0"]}, "mine": {"python": "python3"}})
    found = listed(cli, "--site", site)
    wanted = {
        "whole": "built",
        "old": "outdated",
        "half": "incomplete",
        "absent": "from the site",
        "mine": "from the site",
        "beside": "hpcbench Python",
    }
    assert {name: found[name]["state"] for name in wanted} == wanted
    assert listed(cli)["absent"]["state"] == "not built"
    assert found["whole"]["recipe"] == "workspace"
    assert found["mxnet"]["recipe"] == "shipped"
    assert found["whole"]["versions"] == {"tiny": "1.0"}
    assert found["whole"]["size_bytes"] > 1_000_000
    assert found["absent"]["description"] == "module tiny/1.0"
    table = cli("env", "list").stdout
    assert all(name in table for name in ("whole", "outdated", "incomplete", "tiny 1.0"))


def test_list_works_where_a_recipe_is_wrong(cli, bench):
    bench.recipe("broken", TINY, pyton=">=3.8")
    assert listed(cli)["broken"]["state"] == "bad recipe"
    assert "pyton" in cli("env", "list").stdout


def test_a_failing_build_shows_the_last_lines_of_its_log_and_the_others_are_built(cli, bench, tmp_path):
    (tmp_path / "fail").touch()
    bench.recipe("bad", {**TINY, "env": {"FAIL_IF": str(tmp_path / "fail")}})
    bench.recipe("good", TINY)
    told = cli.build("bad", "good", expect=1).stderr
    assert "bad: " in told
    assert "installing tiny==1.0 failed" in told
    assert "build.log" in told
    assert "| " in told
    assert "the backend was told to fail" in told
    assert "failed: bad" in told
    assert listed(cli)["good"]["state"] == "built"


def test_all_builds_every_recipe(cli, bench, monkeypatch):
    told = cli.build("--all", expect=1).stderr  # pip finds none of the shipped ones' packages here
    assert "mxnet 2/3: installing mxnet==" in told
    assert "pytorch 2/" in told


def test_a_mistake_in_the_last_recipe_is_told_before_anything_is_built(cli, bench):
    bench.recipe("good", TINY)
    bench.recipe("broken", TINY, pyton=">=3.8")
    assert "pyton" in cli.build("good", "broken", expect=2).stderr
    assert listed(cli)["good"]["state"] == "not built"


def test_what_is_built_with_another_python_is_not_taken_for_what_is_asked(cli, bench, tmp_path):
    bench.recipe("demo", TINY)
    cli.build("demo")
    other = tmp_path / "python3.9"
    other.write_text("#!/bin/sh\necho 3.9.1\n")
    other.chmod(0o755)
    told = cli("env", "build", "demo", "--python", str(other), expect=1).stderr
    assert "'demo' is already built with Python 3." in told
    assert "--force to rebuild it" in told


def test_a_name_that_is_none_does_not_hide_the_others(cli, bench):
    bench.recipe("my env", TINY)
    bench.recipe(".#good", TINY)
    bench.recipe("good", TINY)
    found = listed(cli)
    assert (found["my env"]["state"], found["good"]["state"]) == ("bad recipe", "not built")
    assert ".#good" not in found


def test_a_python_that_does_not_fit_is_refused(cli, bench):
    bench.recipe("demo", TINY, python=">=3.6,<3.8")
    told = cli("env", "build", "demo", "--python", sys.executable, expect=1).stderr
    assert "'demo' requires Python >=3.6,<3.8, and this is" in told


MISTAKES = {
    "nothing to build": (["build"], "give either names or --all"),
    "names and all": (["build", "demo", "--all"], "give either names or --all"),
    "unknown recipe": (["build", "pytorh"], "did you mean 'pytorch'?"),
    "unknown environment": (["check", "pytorh"], "did you mean 'pytorch'?"),
    "which framework": (["check", "beside"], "'beside' does not begin with the name of a framework"),
    "unknown framework": (["check", "beside", "--framework", "pytorh"], "did you mean 'pytorch'?"),
    "not there to remove": (["remove", "beside"], "the environment 'beside' is not built"),
    "not built": (["check", "mxnet"], "hpcbench env build mxnet"),
    "unknown command": (["biuld"], "biuld"),
    "no Python": (["build", "beside", "--python", "no-such-python"], "'no-such-python' is not a working Python"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained(cli, bench, mistake):
    bench.recipe("beside", TINY, imports=("json",))
    arguments, words = MISTAKES[mistake]
    assert words in cli("env", *arguments, expect=2).stderr


def test_a_sweep_over_what_is_not_built_says_how_to_build_it(cli):
    experiment = cli.experiment(parameters={"framework": "mxnet"})
    told = cli("sweep", experiment, expect=2).stderr
    assert "the environment 'mxnet' is not built" in told
    assert "hpcbench env build mxnet" in told


def test_all_that_is_not_built_is_named_at_once(cli):
    experiment = {"name": "two", "parameters": {"model": "mlp"}, "matrix": {"framework": ["mxnet", "jax"]}}
    (cli.workspace / "two.yaml").write_text(json.dumps(experiment))
    told = cli("sweep", "two.yaml", expect=2).stderr
    assert "these environments are not built: jax, mxnet" in told
    assert "hpcbench env build jax mxnet" in told
    assert not list(cli.workspace.glob("jobs/*"))


def test_a_plan_is_shown_before_its_environments_are_built(cli, bench):
    shown = cli("sweep", cli.experiment(parameters={"framework": "mxnet"}), "--show-script")
    assert "warning: the environment 'mxnet' is not built; build it: hpcbench env build mxnet" in shown.stderr
    assert str(bench.place("mxnet").python) in shown.stdout


def test_a_sweep_with_what_is_outdated_warns_and_goes_on(cli, bench):
    bench.recipe("mxnet-tiny", TINY)
    cli.build("mxnet-tiny")
    experiment = cli.experiment(parameters={"framework": "mxnet", "environment": "mxnet-tiny"})
    assert "warning" not in cli("sweep", experiment, "--dry-run").stderr
    bench.recipe("mxnet-tiny", TINY, {"install": ["other==1.0"]})
    done = cli("sweep", experiment, "--render-only")
    assert "warning: the recipe of 'mxnet-tiny' has changed since it was built" in done.stderr
    (script,) = cli.workspace.glob("jobs/*/job-001.sh")
    assert str(bench.place("mxnet-tiny").python) in script.read_text()


def test_a_sweep_whose_python_was_removed_meanwhile_is_not_resumed(cli, bench):
    bench.recipe("mxnet-tiny", TINY)
    cli.build("mxnet-tiny")
    cli("sweep", cli.experiment(parameters={"framework": "mxnet", "environment": "mxnet-tiny"}), "--render-only")
    cli("env", "remove", "mxnet-tiny")
    told = cli("resume", "latest", expect=2).stderr
    assert "the environment 'mxnet-tiny' no longer exists" in told
    assert "rebuild it: hpcbench env build mxnet-tiny" in told
    assert not cli.records()


def test_removing_says_how_much_it_frees(cli, bench):
    bench.recipe("demo", TINY)
    cli.build("demo")
    assert "removed demo (" in cli("env", "remove", "demo").stderr
    assert listed(cli)["demo"]["state"] == "not built"


def test_ctrl_c_ends_pip_and_a_later_build_goes_on(cli, bench, quick_python, wait_until, tmp_path):
    bench.recipe("demo", {"install": ["other==1.0"]}, {**TINY, "env": {"WAIT_FOR": str(tmp_path / "go")}})
    running = cli.start("env", "build", "--no-check", "--python", quick_python, "demo")
    wait_until(lambda: "tiny " in bench.built)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "demo is incomplete; to continue, run: hpcbench env build demo" in told
    assert processes_in(bench) == []
    (tmp_path / "go").touch()
    cli.build("demo")
    assert bench.built == ["other ", "tiny ", "tiny "]


def test_after_a_kill_nobody_builds_beside_what_still_runs_and_then_it_goes_on(
    cli, bench, quick_python, wait_until, tmp_path
):
    bench.recipe("demo", {"install": ["other==1.0"]}, {**TINY, "env": {"WAIT_FOR": str(tmp_path / "go")}})
    running = cli.start("env", "build", "--no-check", "--python", quick_python, "demo")
    wait_until(lambda: "tiny " in bench.built)
    running.kill()
    running.communicate(timeout=60)
    assert "is being built or removed by another hpcbench" in cli.build("demo", expect=1).stderr
    assert "is being built or removed by another hpcbench" in cli("env", "remove", "demo", expect=2).stderr
    assert listed(cli)["demo"]["state"] == "incomplete"
    (tmp_path / "go").touch()
    wait_until(lambda: processes_in(bench) == [])
    told = cli.build("demo").stderr
    assert "demo 1/4" not in told
    assert "demo 2/4" not in told
    assert listed(cli)["demo"]["state"] == "built"


def processes_in(bench):
    """Processes that run in an environment of the bench."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended just now
            found.append(file.read_bytes().decode("utf-8", "replace"))
    return [words for words in found if str(bench.workspace.root / "envs") in words]
